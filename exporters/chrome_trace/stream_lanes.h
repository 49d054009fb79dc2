// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StreamLanes: tracks for what ran on one stream of a device.
//
// Two threads that time on one stream, and clocks that are mapped with an error, make intervals that cross, which no
// viewer takes on one track. Each goes to the first lane on which it nests; lane 0 is the stream's own track.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_STREAM_LANES_H_
#define FERRET_EXPORTERS_CHROME_TRACE_STREAM_LANES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "exporters/chrome_trace/nesting_lane.h"

namespace ferret::chrome_trace {

class StreamLanes {
 public:
  static constexpr size_t kMostSpans = 1024;        // on the stream's own track
  static constexpr size_t kMostOverlapSpans = 256;  // on each further one
  static constexpr size_t kMostOpenLanes = 16;

  // Of a stream whose lanes before `first_overlap` are taken, by what is forgotten, up to `taken_until`.
  explicit StreamLanes(int first_overlap = 1, int64_t taken_until = INT64_MIN) : next_(std::max(first_overlap, 1)) {
    lanes_.emplace_back(0, NestingLane(kMostSpans));
    if (taken_until != INT64_MIN) lanes_.front().second.Block(taken_until);
  }

  // The lane of an interval. A lane that is new is count() - 1.
  int Place(int64_t start_ns, int64_t end_ns) {
    for (auto& [number, lane] : lanes_) {
      if (lane.Place(start_ns, end_ns)) return number;
    }
    // Of many the oldest is given up, with all that is known of it.
    if (lanes_.size() == kMostOpenLanes) {
      given_up_until_ = std::max(given_up_until_, lanes_[1].second.latest_end());
      lanes_.erase(lanes_.begin() + 1);
    }
    lanes_.emplace_back(next_++, NestingLane(kMostOverlapSpans));
    lanes_.back().second.Place(start_ns, end_ns);
    return lanes_.back().first;
  }

  // One more than the highest number of a lane.
  int count() const { return next_; }
  int64_t latest_end() const {
    int64_t latest = given_up_until_;
    for (const auto& numbered : lanes_) latest = std::max(latest, numbered.second.latest_end());
    return latest;
  }

 private:
  int next_;
  int64_t given_up_until_ = INT64_MIN;
  std::vector<std::pair<int, NestingLane>> lanes_;
};

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_STREAM_LANES_H_
