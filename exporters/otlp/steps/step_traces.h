// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StepTraces: a run as many traces, one for each training step, and one for all that is in no step.
//
//     event ──► encoded ──► held ──► its step is over ──► sent in the step's trace
//                                                    └──► dropped: the step is not sampled
//
// A step's root span and its phases are always sent. A span belongs to the step in which it began, device work to the one
// in which it was launched. A step is over a while after its end: its backward operators come later than itself. What
// comes still later (kernels may) is sent or dropped as the step was. A parent
// that is not in the step's trace (it was open before, or is not sent) is replaced by the step's root: no span of a step
// names a parent that is not sent.
//
// Outside of steps all is sent up to SamplingConfig::held_bytes in a session, with Detail::kAll without an end.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_STEP_TRACES_H_
#define FERRET_EXPORTERS_OTLP_STEPS_STEP_TRACES_H_

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/steps/held_spans.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/spans/span_ids.h"
#include "exporters/otlp/spans/step_event.h"
#include "exporters/otlp/steps/step_history.h"
#include "exporters/otlp/steps/step_phases.h"
#include "exporters/otlp/steps/step_sampler.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

// What becomes of spans before they are sent. Cumulative.
struct SpanCounts {
  uint64_t sent = 0;         // given to the receiver of requests, steps and phases included
  uint64_t not_sampled = 0;  // of steps that are not sent
  uint64_t cut = 0;          // there was no more room for what waits, or outside of steps no more is sent
};

// Who gets what StepTraces has found out.
struct StepReceivers {
  // A full request. The bytes live until the call returns.
  std::function<void(RequestBody)> request;
  // The span of an event is sent. May be null.
  std::function<void(const TraceId& trace, const HeldSpan& span)> sent;
  // A step has ended. May be null.
  std::function<void(int64_t duration_ns, const std::vector<StepPhases::Interval>& phases)> step;
};

// Of a span.
inline AttributeLimits LimitsOf(const OtlpConfig& config) {
  AttributeLimits limits;
  limits.count = static_cast<int64_t>(std::min<uint64_t>(config.most_attributes, AttributeLimits::kNone));
  if (config.most_value_chars) limits.value_chars = *config.most_value_chars;
  return limits;
}

template <typename Encoder>
class StepTraces {
 public:
  StepTraces(const SpanIds& ids, const OtlpConfig& config, const Resource& resource, StepReceivers receivers)
      : ids_(ids),
        sampling_(config.sampling),
        batch_(config.delivery),
        delay_(absl::ToChronoNanoseconds(config.delivery.schedule_delay)),
        limits_(LimitsOf(config)),
        most_carried_(config.most_events),
        remote_(config.remote),
        receivers_(std::move(receivers)),
        run_trace_(remote_ ? remote_->trace_id : ids.trace_id()),
        one_(run_trace_, resource),
        own_(run_trace_, resource),
        request_(run_trace_, resource),
        spans_(ids, &one_, config.link_kernels, limits_),
        sampler_(config.sampling) {}

  void Begin(const SessionInfo& info) {
    Span run;
    if (remote_) {
      run.parent = remote_->span_id;
      run.flags = kRemoteParentFlags | remote_->flags;
      run.trace_state = remote_->state;
    }
    one_.Clear();
    spans_.AddRun(info, run);
    Send(one_.last());
  }

  // Names of threads. First of all for each batch.
  void Note(const EventBatch& batch, RunnerClock::Time now) {
    now_ = now;
    spans_.Note(batch);
    if (!pending_.empty() && now_ - pending_.front().came >= kSettled) FinishSteps(now_ - kSettled / 2);
    SendRequestIfDue();
  }

  void AddEvent(const FunctionEvent& event, const DurationSeries::Id& series) {
    int64_t number = 0;
    if (IsStep(event, &number)) {
      pending_.push_back({event.start_ns, event.end_ns, number, event.device_resource_id, now_});
      return;
    }
    phases_.Note(event);
    if (sampling_.detail == Detail::kNone) {
      ++counts_.not_sampled;
      return;
    }
    one_.Clear();
    const Span span = spans_.AddEvent(event);
    HeldSpan held;
    held.time_ns = event.details != nullptr && event.details->launch != nullptr ? event.details->launch->start_ns
                                                                                : event.start_ns;
    held.series = series;
    Hold(span, held);
  }

  void AddMoments(const EventBatch& batch) {
    for (const InstantEvent& instant : batch.instants) {
      if (instant.kind == InstantEvent::Kind::kLoss) losses_.push_back({instant.time_ns, instant.value});
    }
    if (losses_.size() > kMostLosses) losses_.erase(losses_.begin(), losses_.end() - kMostLosses);
    if (sampling_.detail == Detail::kNone) return;
    AddCarriers(batch.instants, [&](const InstantEvent* from, size_t n) { return spans_.AddInstants(from, n); });
    AddCarriers(batch.memory, [&](const MemoryEvent* from, size_t n) { return spans_.AddMemory(from, n); });
  }

  // At least once a second. `awaited`: everything is given away, also of steps that have only just ended.
  void Flush(RunnerClock::Time now, bool awaited) {
    now_ = now;
    FinishSteps(awaited ? now_ : now_ - kSettled);
    awaited ? SendRequest() : SendRequestIfDue();
  }

  // Whether something waits that time alone makes ready.
  bool waits() const { return !pending_.empty() || request_.spans() > 0 || (!has_steps() && !held_.empty()); }

  // For a program that has no steps: what waits is outside of them.
  bool has_steps() const { return steps_ > 0 || !pending_.empty(); }
  void ReleaseHeld() { Decide(INT64_MAX); }

  // The session is over: what waits is of a step that has not ended.
  void End(const ExportProgress& progress, uint64_t events, int64_t time_ns) {
    FinishSteps(RunnerClock::Time::max());
    ReleaseHeld();
    one_.Clear();
    spans_.AddRecord(progress, events, time_ns, [&](typename Encoder::Attributes* attributes) {
      attributes->Int("ferret.spans.sent", static_cast<int64_t>(counts_.sent + 1));
      attributes->Int("ferret.spans.not_sampled", static_cast<int64_t>(counts_.not_sampled));
      attributes->Int("ferret.spans.cut", static_cast<int64_t>(counts_.cut));
      attributes->Int("ferret.steps", static_cast<int64_t>(steps_));
    });
    Send(one_.last());
    SendRequest();
  }

  const SpanCounts& counts() const { return counts_; }

 private:
  // A step that has ended, while what belongs to it may still come.
  struct PendingStep {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t number = 0;
    int32_t os_tid = 0;
    RunnerClock::Time came;
  };
  struct Loss {
    int64_t time_ns;
    double scopes;
  };
  static constexpr size_t kMostLosses = 65536;
  // The drain holds back a backward operator for a pass over all threads, which takes a fraction of it.
  static constexpr std::chrono::milliseconds kSettled{500};

  template <typename Moments, typename AddCarrier>
  void AddCarriers(const Moments& moments, const AddCarrier& add) {
    for (size_t from = 0; from < moments.size(); from += most_carried_) {
      one_.Clear();
      const Span span = add(&moments[from], std::min(most_carried_, moments.size() - from));
      HeldSpan held;
      held.time_ns = span.start_ns;
      Hold(span, held);
    }
  }

  // The encoded span is one_.last().
  void Hold(const Span& span, HeldSpan held) {
    held.id = span.id;
    held.parent = span.parent;
    held.linked = span.linked;
    held.start_ns = span.start_ns;
    held.duration_ns = std::max<int64_t>(0, span.end_ns - span.start_ns);
    const std::string_view bytes = one_.last();
    if (held.time_ns < past_.end_ns()) {
      EndedStep* const step = past_.At(held.time_ns);
      if (step != nullptr && step->spans != nullptr) step->spans->insert(held.id);
      late_.assign(bytes);
      held.bytes = late_.data();
      held.size = static_cast<uint32_t>(late_.size());
      return Place(held, step, nullptr);
    }
    if (held_.bytes() + bytes.size() > sampling_.held_bytes) FinishSteps(now_);
    if (held_.bytes() + bytes.size() > sampling_.held_bytes) {
      if (sampling_.detail != Detail::kAll) {
        ++counts_.cut;
        return;
      }
      ReleaseAsNextStep();
    }
    held_.Add(held, bytes);
  }

  // Steps that came until then are over.
  void FinishSteps(RunnerClock::Time until) {
    if (pending_.empty() || pending_.front().came > until) return;
    while (!pending_.empty() && pending_.front().came <= until) {
      FinishStep(pending_.front());
      pending_.pop_front();
    }
    Decide(past_.end_ns());
    past_.Forget();
  }

  void FinishStep(const PendingStep& pending) {
    const int64_t duration_ns = pending.end_ns - pending.start_ns;
    EndedStep step;
    step.start_ns = std::max(pending.start_ns, past_.end_ns());
    step.end_ns = std::max(pending.end_ns, step.start_ns);
    const std::string_view why = sampler_.Decide(pending.number, duration_ns);
    step.sent = !why.empty();
    step.trace = ids_.TraceOfStep(pending.number);
    step.root = ids_.OfStep(steps_);
    const std::vector<StepPhases::Interval> phases = phases_.Take(step.start_ns, step.end_ns);
    if (receivers_.step) receivers_.step(duration_ns, phases);
    SendRoot(step, pending, why, phases);
    for (size_t i = 0; i < phases.size(); ++i) SendPhase(step, phases[i], static_cast<uint8_t>(i));
    ++steps_;
    next_number_ = pending.number + 1;
    past_.Add(std::move(step));
  }

  // Everything that began before `end_ns`, where the latest step ended, is sent or dropped.
  void Decide(int64_t end_ns) {
    outside_.clear();
    for (const HeldSpan& span : held_.spans()) {
      if (span.time_ns >= end_ns) continue;
      if (EndedStep* const step = past_.At(span.time_ns); step == nullptr) {
        outside_.insert(span.id);
      } else if (step->sent) {
        step->spans->insert(span.id);
      }
    }
    for (const HeldSpan& span : held_.spans()) {
      if (span.time_ns < end_ns) {
        Place(span, past_.At(span.time_ns), &outside_);
      } else {
        rest_.Add(span, {span.bytes, span.size});
      }
    }
    held_.Clear();
    std::swap(held_, rest_);
  }

  // With Detail::kAll, of a step too large to wait for its end: it will be the next one.
  void ReleaseAsNextStep() {
    if (!has_steps()) return ReleaseHeld();
    const TraceId trace = ids_.TraceOfStep(next_number_);
    const SpanId root = ids_.OfStep(steps_);
    for (const HeldSpan& span : held_.spans()) {
      if (span.parent == ids_.OfRun()) Encoder::SetParent(span.bytes, root);
      SendIn(trace, span);
    }
    held_.Clear();
  }

  // `step` is null outside of steps; then `near` are the spans there that are sent with this one, null if unknown.
  void Place(const HeldSpan& span, EndedStep* step, const absl::flat_hash_set<SpanId>* near) {
    if (step == nullptr) {
      if (sampling_.detail != Detail::kAll) {
        if (outside_bytes_ + span.size > sampling_.held_bytes) {
          ++counts_.cut;
          return;
        }
        outside_bytes_ += span.size;
        if (near == nullptr || !near->contains(span.parent)) Encoder::SetParent(span.bytes, ids_.OfRun());
      }
      return SendIn(run_trace_, span);
    }
    if (!step->sent) {
      ++counts_.not_sampled;
      return;
    }
    const bool has_parent = step->spans != nullptr ? step->spans->contains(span.parent) : span.parent != ids_.OfRun();
    if (!has_parent) Encoder::SetParent(span.bytes, step->root);
    SendIn(step->trace, span);
  }

  void SendIn(const TraceId& trace, const HeldSpan& span) {
    Encoder::SetTrace(span.bytes, trace);
    if (span.linked != 0) {
      // A forward op is of the step of its backward op, as a rule.
      const EndedStep* const step = past_.Of(span.linked);
      Encoder::SetLinkTrace(span.bytes, step != nullptr ? step->trace : trace);
    }
    if (receivers_.sent) receivers_.sent(trace, span);
    Send({span.bytes, span.size});
  }

  void Send(std::string_view span) {
    if (request_.spans() > 0 && request_.bytes() + span.size() > batch_.batch_bytes) SendRequest();
    if (request_.spans() == 0) request_due_ = now_ + delay_;
    request_.AddEncoded(span);
    ++counts_.sent;
    if (request_.spans() >= batch_.batch_spans) SendRequest();
  }

  void SendRequestIfDue() {
    if (request_.spans() > 0 && now_ >= request_due_) SendRequest();
  }

  void SendRequest() {
    const RequestBody body = request_.Finish();
    if (body.spans > 0) receivers_.request(body);
    request_.Clear();
  }

  void SendRoot(const EndedStep& step, const PendingStep& pending, std::string_view why,
                const std::vector<StepPhases::Interval>& phases) {
    typename Encoder::Attributes attributes(kSpanAttributes, limits_);
    attributes.Int("ferret.step", pending.number);
    attributes.Int("thread.id", pending.os_tid);
    attributes.Text("ferret.detail", why.empty() ? "none" : why);
    const uint64_t cut = counts_.cut - std::exchange(cut_reported_, counts_.cut);
    if (cut > 0) attributes.Int("ferret.spans.cut", static_cast<int64_t>(cut));
    if (const double lost = LostUntil(step.end_ns); lost > 0) attributes.Int("ferret.lost", static_cast<int64_t>(lost));
    int64_t sums[kPhaseCount] = {};
    for (const StepPhases::Interval& phase : phases) sums[static_cast<size_t>(phase.phase)] += phase.busy_ns;
    for (size_t i = 1; i < kPhaseCount; ++i) {
      if (sums[i] > 0) attributes.Int(absl::StrCat("ferret.phase.", PhaseName(i), "_ns"), sums[i]);
    }
    Span root;
    root.id = step.root;
    root.linked = ids_.OfRun();
    root.link_type = LinkType::kRun;
    root.name = "ProfilerStep";
    root.start_ns = step.start_ns;
    root.end_ns = step.end_ns;
    root.attributes = attributes.view();
    root.dropped_attributes = attributes.dropped();
    SendOwn(root, step.trace);
  }

  void SendPhase(const EndedStep& step, const StepPhases::Interval& phase, uint8_t index) {
    typename Encoder::Attributes attributes(kSpanAttributes, limits_);
    attributes.Text("ferret.phase", PhaseText(phase.phase));
    if (phase.busy_ns != phase.end_ns - phase.start_ns) attributes.Int("ferret.phase.busy_ns", phase.busy_ns);
    Span span;
    span.id = ids_.OfPhase(steps_, index);
    span.parent = step.root;
    span.name = PhaseText(phase.phase);
    span.start_ns = phase.start_ns;
    span.end_ns = phase.end_ns;
    span.attributes = attributes.view();
    span.dropped_attributes = attributes.dropped();
    SendOwn(span, step.trace);
  }

  void SendOwn(const Span& span, const TraceId& trace) {
    own_.Clear();
    own_.AddSpan(span);
    std::string bytes(own_.last());
    Encoder::SetTrace(bytes.data(), trace);
    Send(bytes);
  }

  static absl::string_view PhaseName(size_t phase) {
    const std::string_view text = PhaseText(static_cast<Phase>(phase));
    return {text.data(), text.size()};
  }

  double LostUntil(int64_t end_ns) {
    double scopes = 0;
    const auto rest = std::partition(losses_.begin(), losses_.end(), [&](const Loss& l) { return l.time_ns >= end_ns; });
    for (auto loss = rest; loss != losses_.end(); ++loss) scopes += loss->scopes;
    losses_.erase(rest, losses_.end());
    return scopes;
  }

  const SpanIds ids_;
  const SamplingConfig sampling_;
  const DeliveryConfig batch_;
  const std::chrono::nanoseconds delay_;
  const AttributeLimits limits_;
  const size_t most_carried_;  // events of a span
  const std::optional<RemoteContext> remote_;
  const StepReceivers receivers_;
  const TraceId run_trace_;
  Encoder one_;      // a span at a time, of events
  Encoder own_;      // of steps and phases
  Encoder request_;  // what is sent next
  BatchSpans<Encoder> spans_;
  StepSampler sampler_;
  StepPhases phases_;

  SpareBlocks spare_;
  HeldSpans held_{&spare_};
  HeldSpans rest_{&spare_};  // of a decision: empty outside of it
  absl::flat_hash_set<SpanId> outside_;  // of a decision
  std::string late_;
  std::deque<PendingStep> pending_;
  StepHistory past_;
  std::vector<Loss> losses_;
  RunnerClock::Time now_;
  RunnerClock::Time request_due_;
  int64_t next_number_ = 0;
  uint64_t steps_ = 0;
  uint64_t outside_bytes_ = 0;
  uint64_t cut_reported_ = 0;
  SpanCounts counts_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_TRACES_H_
