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

struct EndedStep {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool sent = false;  // with its operators and kernels
  TraceId trace{};
  SpanId root = 0;
  // Which spans were sent. Null unless it is one of the latest few that are sent; see StepHistory::Forget.
  std::unique_ptr<absl::flat_hash_set<SpanId>> spans;
};

class StepHistory {
 public:
  // Steps come in the order of time and do not overlap.
  void Add(EndedStep step) {
    if (step.sent) step.spans = std::make_unique<absl::flat_hash_set<SpanId>>();
    steps_.push_back(std::move(step));
  }

  // Older steps, and which spans all but the latest few have.
  void Forget() {
    // Work of a device comes seconds late at most.
    constexpr size_t kMostSteps = 4096;
    near_ = nullptr;
    while (steps_.size() > kMostSteps) steps_.pop_front();
    constexpr size_t kMostSets = 4;
    size_t sets = 0;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (!step->sent) continue;
      if (step->spans == nullptr) return;  // and so in all before
      if (++sets > kMostSets) step->spans.reset();
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

  // The step in which a span was sent, as far as is known; null if it is not.
  const EndedStep* Of(SpanId span) const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (!step->sent) continue;
      if (step->spans == nullptr) return nullptr;
      if (step->spans->contains(span)) return &*step;
    }
    return nullptr;
  }

  // When the latest one ended; everything is later if there was none.
  int64_t end_ns() const { return steps_.empty() ? INT64_MIN : steps_.back().end_ns; }

 private:
  std::deque<EndedStep> steps_;  // where what is added at an end moves nothing
  EndedStep* near_ = nullptr;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_HISTORY_H_
