// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HeldMoments: instants or allocations that wait until it is known which step they are in.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_HELD_MOMENTS_H_
#define FERRET_EXPORTERS_OTLP_STEPS_HELD_MOMENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <vector>

#include "ferret/event_batch.h"

namespace ferret::otlp {

template <typename Moment>
class HeldMoments {
 public:
  // `batch` is the one that they came with.
  void Add(const std::vector<Moment>& moments, size_t room, uint64_t batch) {
    const size_t fits = std::min(moments.size(), room > bytes() ? (room - bytes()) / sizeof(Moment) : 0);
    moments_.insert(moments_.end(), moments.begin(), moments.begin() + static_cast<std::ptrdiff_t>(fits));
    for (size_t i = moments_.size() - fits; i < moments_.size(); ++i) KeepName(&moments_[i]);
    cut_ += moments.size() - fits;
    if (fits == 0) return;
    int64_t latest_ns = INT64_MIN;
    for (size_t i = moments_.size() - fits; i < moments_.size(); ++i) latest_ns = std::max(latest_ns, moments_[i].time_ns);
    batches_.push_back({batch, latest_ns});
  }

  size_t bytes() const { return moments_.size() * sizeof(Moment) + name_bytes_; }
  bool empty() const { return moments_.empty(); }
  // The oldest batch that some may be of; not empty().
  uint64_t oldest_batch() const { return batches_.front().batch; }
  // That found no room.
  uint64_t cut() const { return cut_; }

  // Counted as those that found no room.
  void DropOlderHalf() {
    const size_t half = (moments_.size() + 1) / 2;
    moments_.erase(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(half));
    cut_ += half;
    Forget();
  }

  // Takes those before `end_ns`. Calls `emit` with runs of at most `most` of them that are all in one step, as `step_of` says.
  template <typename StepOf, typename Emit>
  void TakeUntil(int64_t end_ns, size_t most, const StepOf& step_of, const Emit& emit) {
    const auto later = std::stable_partition(moments_.begin(), moments_.end(),
                                             [&](const Moment& moment) { return moment.time_ns < end_ns; });
    for (auto from = moments_.begin(); from != later;) {
      auto* const step = step_of(from->time_ns);
      auto to = std::next(from);
      while (to != later && static_cast<size_t>(to - from) < most && step_of(to->time_ns) == step) ++to;
      emit(step, &*from, static_cast<size_t>(to - from));
      from = to;
    }
    moments_.erase(moments_.begin(), later);
    Forget();
  }

 private:
  // A name without an id lives as long as its batch only.
  void KeepName(InstantEvent* instant) {
    if (instant->name_id != 0 || instant->name.empty()) return;
    names_.emplace_back(instant->name);
    name_bytes_ += names_.back().size();
    instant->name = names_.back();
  }
  void KeepName(MemoryEvent*) {}
  // What nothing is left of.
  void Forget() {
    int64_t earliest_ns = INT64_MAX;
    for (const Moment& moment : moments_) earliest_ns = std::min(earliest_ns, moment.time_ns);
    while (!batches_.empty() && (moments_.empty() || batches_.front().latest_ns < earliest_ns)) batches_.pop_front();
    if (!moments_.empty()) return;
    names_.clear();
    name_bytes_ = 0;
  }

  struct Batch {
    uint64_t batch;
    int64_t latest_ns;
  };

  std::vector<Moment> moments_;
  std::deque<Batch> batches_;
  std::deque<std::string> names_;  // where what is added at the end moves nothing
  size_t name_bytes_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_HELD_MOMENTS_H_
