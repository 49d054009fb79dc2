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
// comes still later (kernels may) is sent or dropped as the step was. A parent that is not in the step's trace (it was open
// before, or is not sent) is replaced by the step's root: no span of a step names a parent that is not sent.
//
// Outside of steps all is sent up to SamplingConfig::held_bytes in a session, with Detail::kAll without an end. What waits
// is bounded by the same number: if there is more, the older half is given up; with Detail::kAll it is sent at once, and
// since its step is not known yet, all of that step is in the trace of the run.
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

#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/spans/span_ids.h"
#include "exporters/otlp/steps/held_moments.h"
#include "exporters/otlp/steps/held_spans.h"
#include "exporters/otlp/steps/span_output.h"
#include "exporters/otlp/steps/step_history.h"
#include "exporters/otlp/steps/step_phases.h"
#include "exporters/otlp/steps/step_root.h"
#include "exporters/otlp/steps/step_sampler.h"
#include "runtime/export/runner_clock.h"
#include "runtime/export/step_event.h"

namespace ferret::otlp {

// What becomes of spans before they are sent. Cumulative.
struct SpanCounts {
  uint64_t sent = 0;         // given to the receiver of requests, steps and phases included
  // Scopes and moments: of steps that are not sent; and for which there was no more room, or that are outside of steps,
  // where no more is sent.
  uint64_t not_sampled = 0;
  uint64_t cut = 0;
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
        limits_(LimitsOf(config)),
        most_carried_(config.most_events),
        remote_(config.remote),
        receivers_(std::move(receivers)),
        run_trace_(remote_ ? remote_->trace_id : ids.trace_id()),
        one_(run_trace_, resource),
        own_(run_trace_, resource),
        output_(run_trace_, resource, config.delivery, receivers_.request),
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
    output_.Add(one_.last(), now_);
  }

  // Names of threads. First of all for each batch.
  void Note(const EventBatch& batch, RunnerClock::Time now) {
    now_ = now;
    batch_ = std::max(batch_, batch.sequence);  // mere notices of threads have none
    spans_.Note(batch);
    if (!pending_.empty() && now_ - pending_.front().came >= kSettled) FinishSteps(now_ - kSettled / 2);
    output_.SendIfDue(now_);
  }

  void AddEvent(const FunctionEvent& event, const DurationSeries::Id& series) {
    int64_t number = 0;
    if (IsStep(event, &number)) {
      pending_.push_back({event.id, event.start_ns, event.end_ns, number, event.device_resource_id, now_, batch_});
      return;
    }
    phases_.Note(event);
    if (sampling_.detail == Detail::kNone) {
      ++not_sampled_;
      return;
    }
    one_.Clear();
    const auto ties = spans_.AddEvent(event);
    HeldSpan held;
    held.id = ties.id;
    held.parent = ties.parent;
    held.linked = ties.linked;
    held.time_ns = held.start_ns = event.start_ns;
    held.duration_ns = std::max<int64_t>(0, event.end_ns - event.start_ns);
    if (event.details != nullptr && event.details->launch != nullptr) held.time_ns = event.details->launch->start_ns;
    held.series = series;
    held.batch = batch_;
    Hold(held, one_.last());
  }

  void AddMoments(const EventBatch& batch) {
    for (const InstantEvent& instant : batch.instants) {
      if (instant.kind == InstantEvent::Kind::kLoss) losses_.push_back({instant.time_ns, instant.value});
    }
    // Of a program without steps nobody asks.
    constexpr size_t kMostLosses = 65536;
    while (losses_.size() > kMostLosses) losses_.pop_front();
    if (sampling_.detail == Detail::kNone || (batch.instants.empty() && batch.memory.empty())) return;
    EnsureRoom(batch.instants.size() * sizeof(InstantEvent) + batch.memory.size() * sizeof(MemoryEvent));
    instants_.Add(batch.instants, instants_.bytes() + Room(), batch_);
    memory_.Add(batch.memory, memory_.bytes() + Room(), batch_);
    PlaceMoments(past_.end_ns());  // those that are late
  }

  // At least once a second. `awaited`: everything is given away, also of steps that have only just ended.
  void Flush(RunnerClock::Time now, bool awaited) {
    now_ = now;
    FinishSteps(awaited ? now_ : now_ - kSettled);
    awaited ? output_.Send() : output_.SendIfDue(now_);
  }

  // Whether something waits that time alone makes ready.
  bool waits() const {
    return !pending_.empty() || !output_.empty() || (!has_steps() && !(held_.empty() && instants_.empty() && memory_.empty()));
  }

  // Nothing of the batches up to this one waits for its step. `in_output`: the latest of it is in a request that is not
  // full.
  uint64_t through() const {
    uint64_t oldest = batch_ + 1;
    if (!held_.empty()) oldest = std::min(oldest, held_.front().batch);
    if (!pending_.empty()) oldest = std::min(oldest, pending_.front().batch);
    if (!instants_.empty()) oldest = std::min(oldest, instants_.oldest_batch());
    if (!memory_.empty()) oldest = std::min(oldest, memory_.oldest_batch());
    return oldest > 0 ? oldest - 1 : 0;  // a batch without a number has 0
  }
  bool in_output() const { return !output_.empty(); }

  // For a program that has no steps: what waits is outside of them.
  bool has_steps() const { return steps_ > 0 || !pending_.empty(); }
  void ReleaseHeld() { Decide(INT64_MAX); }

  // The session is over: what waits is of a step that has not ended.
  void End(const ExportProgress& progress, uint64_t events, int64_t time_ns) {
    FinishSteps(RunnerClock::Time::max());
    ReleaseHeld();
    one_.Clear();
    const SpanCounts so_far = counts();
    spans_.AddRecord(progress, events, time_ns, [&](typename Encoder::Attributes* attributes) {
      attributes->Int("ferret.spans.sent", static_cast<int64_t>(so_far.sent + 1));
      attributes->Int("ferret.spans.not_sampled", static_cast<int64_t>(so_far.not_sampled));
      attributes->Int("ferret.spans.cut", static_cast<int64_t>(so_far.cut));
      attributes->Int("ferret.steps", static_cast<int64_t>(steps_));
    });
    output_.Add(one_.last(), now_);
    output_.Send();
  }

  SpanCounts counts() const { return {output_.spans(), not_sampled_, cut_ + instants_.cut() + memory_.cut()}; }

 private:
  // A step that has ended, while what belongs to it may still come.
  struct PendingStep {
    int64_t id = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t number = 0;
    int32_t os_tid = 0;
    RunnerClock::Time came;
    uint64_t batch = 0;
  };
  struct Loss {
    int64_t time_ns;
    double scopes;
  };
  // The drain holds back a backward operator for a pass over all threads, which takes a fraction of it.
  static constexpr std::chrono::milliseconds kSettled{500};

  static HeldSpan Held(const Span& span) {
    HeldSpan held;
    held.id = span.id;
    held.parent = span.parent;
    held.linked = span.linked;
    held.time_ns = held.start_ns = span.start_ns;
    held.duration_ns = std::max<int64_t>(0, span.end_ns - span.start_ns);
    return held;
  }

  void Hold(HeldSpan held, std::string_view bytes) {
    if (held.time_ns < past_.end_ns()) return PlaceLate(held, bytes);
    EnsureRoom(bytes.size());
    if (held.time_ns < past_.end_ns()) return PlaceLate(held, bytes);
    held_.Add(held, bytes);
  }

  // Of what may wait.
  size_t Room() const {
    const size_t taken = held_.bytes() + instants_.bytes() + memory_.bytes();
    return sampling_.held_bytes - std::min<size_t>(taken, sampling_.held_bytes);
  }
  void EnsureRoom(size_t bytes) {
    if (Room() < bytes) FinishSteps(now_);
    if (Room() < bytes) MakeRoom();
  }

  void PlaceLate(HeldSpan held, std::string_view bytes) {
    EndedStep* const step = past_.At(held.time_ns);
    if (step != nullptr && step->spans != nullptr) step->spans->insert(held.id);
    late_.assign(bytes);
    held.bytes = late_.data();
    held.size = static_cast<uint32_t>(late_.size());
    Place(held, step, nullptr);
  }

  void MakeRoom() {
    if (!has_steps()) return ReleaseHeld();
    if (sampling_.detail == Detail::kAll) {
      for (const HeldSpan& span : held_.spans()) {
        sent_early_until_ns_ = std::max(sent_early_until_ns_, span.time_ns);
        SendIn(run_trace_, span, nullptr);
      }
      held_.Clear();
      PlaceMoments(INT64_MAX);
      return;
    }
    instants_.DropOlderHalf();
    memory_.DropOlderHalf();
    // The newer half is more likely to be of a step that will be sent than what has waited for long.
    const std::vector<HeldSpan>& spans = held_.spans();
    const size_t half = spans.size() / 2 + 1;
    cut_ += std::min(half, spans.size());
    for (size_t i = half; i < spans.size(); ++i) rest_.Add(spans[i], {spans[i].bytes, spans[i].size});
    held_.Clear();
    std::swap(held_, rest_);
  }

  // Steps that came until then are over.
  void FinishSteps(RunnerClock::Time until) {
    const auto end = std::find_if(pending_.begin(), pending_.end(),
                                  [&](const PendingStep& pending) { return pending.came > until; });
    if (end == pending_.begin()) return;
    // Those of several threads may not be in order.
    std::vector<PendingStep> over(pending_.begin(), end);
    pending_.erase(pending_.begin(), end);
    std::stable_sort(over.begin(), over.end(),
                     [](const PendingStep& a, const PendingStep& b) { return a.end_ns < b.end_ns; });
    for (const PendingStep& pending : over) FinishStep(pending);
    Decide(past_.end_ns());
    past_.Forget();
  }

  void FinishStep(const PendingStep& pending) {
    const int64_t duration_ns = pending.end_ns - pending.start_ns;
    StepFacts facts{pending.number, pending.start_ns, pending.end_ns, pending.os_tid, {}, 0, 0};
    facts.detail = sampler_.Decide(pending.number, duration_ns);
    const uint64_t cut = counts().cut;
    facts.cut = cut - std::exchange(cut_reported_, cut);
    facts.lost = LostUntil(pending.end_ns);

    // As far as others have not had the time.
    EndedStep step;
    step.start_ns = std::max(pending.start_ns, past_.end_ns());
    step.end_ns = std::max(pending.end_ns, step.start_ns);
    step.sent = !facts.detail.empty();
    step.root = ids_.OfEvent(pending.id);
    step.in_run = sent_early_until_ns_ >= step.start_ns;
    step.trace = step.in_run ? run_trace_ : ids_.TraceOfStep(pending.number);
    const std::vector<StepPhases::Interval> phases = phases_.Take(step.start_ns, step.end_ns);
    if (receivers_.step) receivers_.step(duration_ns, phases);

    Span root;
    root.id = step.root;
    (step.in_run ? root.parent : root.linked) = ids_.OfRun();
    root.link_type = LinkType::kRun;
    const auto send = [&](const Span& span) { SendOwn(span, step.trace); };
    SendStepRoot<typename Encoder::Attributes>(root, facts, phases, limits_, send);
    for (size_t i = 0; i < std::min(phases.size(), StepPhases::kMostSpans); ++i) {
      Span span;
      span.id = ids_.OfPhase(steps_, static_cast<uint8_t>(i));
      span.parent = step.root;
      SendPhase<typename Encoder::Attributes>(span, phases[i], limits_, send);
    }
    ++steps_;
    past_.Add(std::move(step));
  }

  // Everything that began before `end_ns`, where the latest step ended, is sent or dropped.
  void Decide(int64_t end_ns) {
    outside_.clear();
    for (const HeldSpan& span : held_.spans()) {
      if (span.time_ns >= end_ns) continue;
      if (EndedStep* const step = past_.At(span.time_ns); step == nullptr) {
        outside_.insert(span.id);
      } else if (step->spans != nullptr) {
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
    PlaceMoments(end_ns);
  }

  void PlaceMoments(int64_t end_ns) {
    const auto step_of = [this](int64_t time_ns) { return past_.At(time_ns); };
    const auto place = [this](EndedStep* step, size_t count, const auto& encode) {
      if (step != nullptr && !step->sent) {
        not_sampled_ += count;
        return;
      }
      one_.Clear();
      HeldSpan carrier = Held(encode());
      carrier.events = static_cast<uint32_t>(count);
      PlaceLate(carrier, one_.last());
    };
    instants_.TakeUntil(end_ns, most_carried_, step_of, [&](EndedStep* step, const InstantEvent* from, size_t count) {
      place(step, count, [&] { return spans_.AddInstants(from, count); });
    });
    memory_.TakeUntil(end_ns, most_carried_, step_of, [&](EndedStep* step, const MemoryEvent* from, size_t count) {
      place(step, count, [&] { return spans_.AddMemory(from, count); });
    });
  }

  // `step` is null outside of steps; then `near` are the spans there that are sent with this one, null if unknown.
  void Place(const HeldSpan& span, EndedStep* step, const SpanSet* near) {
    if (step == nullptr) return PlaceOutside(span, near);
    if (!step->sent) {
      not_sampled_ += span.events;
      return;
    }
    const bool has_parent =
        step->in_run || span.parent == step->root || (step->spans != nullptr && step->spans->contains(span.parent));
    if (!has_parent) Encoder::SetParent(span.bytes, step->root);
    SendIn(step->trace, span, step);
  }

  void PlaceOutside(const HeldSpan& span, const SpanSet* near) {
    bool has_parent = !past_.IsRoot(span.parent);
    if (sampling_.detail != Detail::kAll) {
      if (outside_bytes_ + span.size > sampling_.held_bytes) {
        cut_ += span.events;
        return;
      }
      outside_bytes_ += span.size;
      has_parent = near != nullptr && near->contains(span.parent);
    }
    if (!has_parent) Encoder::SetParent(span.bytes, ids_.OfRun());
    SendIn(run_trace_, span, nullptr);
  }

  // `step` is the one that the span is in.
  void SendIn(const TraceId& trace, const HeldSpan& span, const EndedStep* step) {
    Encoder::SetTrace(span.bytes, trace);
    if (span.linked != 0) {
      // A forward op is of the step of its backward op, as a rule.
      const EndedStep* const linked = past_.Of(span.linked, step);
      Encoder::SetLinkTrace(span.bytes, linked != nullptr ? linked->trace : trace);
    }
    if (receivers_.sent) receivers_.sent(trace, span);
    output_.Add({span.bytes, span.size}, now_);
  }

  void SendOwn(const Span& span, const TraceId& trace) {
    own_.Clear();
    own_.AddSpan(span);
    std::string bytes(own_.last());
    Encoder::SetTrace(bytes.data(), trace);
    output_.Add(bytes, now_);
  }

  // Of those that came in the order of time, as they do but for other threads'.
  double LostUntil(int64_t end_ns) {
    double scopes = 0;
    for (; !losses_.empty() && losses_.front().time_ns < end_ns; losses_.pop_front()) scopes += losses_.front().scopes;
    return scopes;
  }

  const SpanIds ids_;
  const SamplingConfig sampling_;
  const AttributeLimits limits_;
  const size_t most_carried_;  // events of a span
  const std::optional<RemoteContext> remote_;
  const StepReceivers receivers_;
  const TraceId run_trace_;
  Encoder one_;  // a span at a time, of events
  Encoder own_;  // of steps and phases
  SpanOutput<Encoder> output_;
  BatchSpans<Encoder> spans_;
  StepSampler sampler_;
  StepPhases phases_;

  SpareBlocks spare_;
  HeldSpans held_{&spare_};
  HeldSpans rest_{&spare_};  // of a decision: empty outside of it
  HeldMoments<InstantEvent> instants_;
  HeldMoments<MemoryEvent> memory_;
  SpanSet outside_;  // of a decision
  std::string late_;
  std::deque<PendingStep> pending_;
  StepHistory past_;
  std::deque<Loss> losses_;
  RunnerClock::Time now_;
  uint64_t batch_ = 0;  // that comes
  int64_t sent_early_until_ns_ = INT64_MIN;  // with Detail::kAll, of a step that was too large
  uint64_t steps_ = 0;
  uint64_t outside_bytes_ = 0;
  uint64_t not_sampled_ = 0;
  uint64_t cut_ = 0;
  uint64_t cut_reported_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_TRACES_H_
