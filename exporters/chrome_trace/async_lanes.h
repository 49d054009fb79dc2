// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// AsyncLanes: tracks for the asynchronous events of one thread.
//
// Slices on one track must nest; asynchronous events overlap one another and everything else on their thread. Each one
// goes to the first lane that is free when it starts, so that no lane has two that overlap.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_ASYNC_LANES_H_
#define FERRET_EXPORTERS_CHROME_TRACE_ASYNC_LANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferret::chrome_trace {

class AsyncLanes {
 public:
  static constexpr int kMostLanes = 500;
  static constexpr int kNoLane = -1;

  // The lane of an event, from 0, or kNoLane when all are taken. A lane's events come in order and end to end.
  int Place(int64_t start_ns, int64_t end_ns) {
    for (size_t lane = 0; lane < ends_.size(); ++lane) {
      if (ends_[lane] <= start_ns) {
        ends_[lane] = end_ns;
        return static_cast<int>(lane);
      }
    }
    if (ends_.size() == kMostLanes) return kNoLane;
    ends_.push_back(end_ns);
    return static_cast<int>(ends_.size()) - 1;
  }

  int count() const { return static_cast<int>(ends_.size()); }

 private:
  std::vector<int64_t> ends_;  // when the last event of each lane ends
};

// The tid of a lane in the trace. Linux has no thread ids from 2^22 on, and 500 lanes stay below 2^31.
constexpr int64_t LaneTid(int64_t os_tid, int lane) { return os_tid + 4194304 * static_cast<int64_t>(lane + 1); }

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_ASYNC_LANES_H_
