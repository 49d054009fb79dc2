// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StepHistory: the training steps that have ended, for what comes late: kernels, and what had to wait for a forward op.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_STEP_HISTORY_H_
#define FERRET_EXPORTERS_OTLP_STEPS_STEP_HISTORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exporters/otlp/spans/span_ids.h"

namespace ferret::otlp {

// Ids are hashes.
struct SpanIdHash {
  size_t operator()(SpanId id) const { return id; }
};
using SpanSet = absl::flat_hash_set<SpanId, SpanIdHash>;

struct EndedStep {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool sent = false;  // with its operators and kernels
  TraceId trace{};
  SpanId root = 0;
  bool in_run = false;  // part of it was sent before it ended: all of it is in the trace of the run, each under its parent
  // Which spans were sent. Null unless it is one of the latest that are sent; see StepHistory::Forget.
  std::unique_ptr<SpanSet> spans;
};

class StepHistory {
 public:
  // Steps come in the order of time and do not overlap.
  void Add(EndedStep step) {
    if (step.sent && !step.in_run) {
      step.spans = std::make_unique<SpanSet>();
      step.spans->reserve(usual_spans_);
    }
    roots_.insert(step.root);
    steps_.push_back(std::move(step));
  }

  // Older steps, and which spans were sent in all but the latest.
  void Forget() {
    // Work of a device comes seconds late at most.
    constexpr size_t kMostSteps = 4096;
    constexpr size_t kMostSpans = size_t{1} << 20;
    near_ = nullptr;
    for (; steps_.size() > kMostSteps; steps_.pop_front()) roots_.erase(steps_.front().root);
    size_t spans = 0;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (step->spans == nullptr) continue;
      if (spans == 0) usual_spans_ = step->spans->size();
      spans += step->spans->size();
      if (spans > kMostSpans && step != steps_.rbegin()) step->spans.reset();
    }
  }

  // The step that a moment lies in; null for none.
  EndedStep* At(int64_t time_ns) {
    // Mostly the one that was asked for before.
    if (near_ != nullptr && time_ns >= near_->start_ns && time_ns < near_->end_ns) return near_;
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                        [](int64_t time, const EndedStep& step) { return time < step.start_ns; });
    if (after == steps_.begin()) return nullptr;
    EndedStep& step = *std::prev(after);
    return time_ns < step.end_ns ? near_ = &step : nullptr;
  }

  // The step in which a span was sent, as far as is known; null if it is not. `likely`, if it is not null, is asked first.
  const EndedStep* Of(SpanId span, const EndedStep* likely) const {
    if (likely != nullptr && likely->spans != nullptr && likely->spans->contains(span)) return likely;
    // Of older ones it would take too long to find out.
    constexpr size_t kMostAsked = 4;
    size_t asked = 0;
    for (auto step = steps_.rbegin(); step != steps_.rend() && asked < kMostAsked; ++step) {
      if (step->spans == nullptr) continue;
      ++asked;
      if (step->spans->contains(span)) return &*step;
    }
    return nullptr;
  }

  bool IsRoot(SpanId span) const { return roots_.contains(span); }

  // When the latest one ended; everything is later if there was none.
  int64_t end_ns() const { return steps_.empty() ? INT64_MIN : steps_.back().end_ns; }

 private:
  std::deque<EndedStep> steps_;  // where what is added at an end moves nothing
  SpanSet roots_;
  EndedStep* near_ = nullptr;
  size_t usual_spans_ = 0;  // as many as the latest step that was sent has
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_HISTORY_H_
