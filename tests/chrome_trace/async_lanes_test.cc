// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/async_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace ferret::chrome_trace {
namespace {

TEST(AsyncLanes, RandomIntervalsNeverOverlapOnALane) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    AsyncLanes lanes;
    std::map<int, std::vector<std::pair<int64_t, int64_t>>> placed;
    // Short rounds of dense intervals overflow no lane; the order of arrival is by end, as from the drain.
    std::vector<std::pair<int64_t, int64_t>> intervals;
    for (int i = 0; i < 300; ++i) {
      const int64_t start = random() % 1000;
      intervals.emplace_back(start, start + random() % 200);
    }
    std::sort(intervals.begin(), intervals.end(), [](auto a, auto b) { return a.second < b.second; });
    for (const auto& [start, end] : intervals) {
      const int lane = lanes.Place(start, end);
      ASSERT_GE(lane, 0);
      if (!placed[lane].empty()) {
        EXPECT_LE(placed[lane].back().second, start);
      }
      placed[lane].emplace_back(start, end);
    }
  }
}

TEST(AsyncLanes, OneEventAfterAnotherNeedsOneLane) {
  AsyncLanes lanes;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(lanes.Place(i, i + 1), 0);
  EXPECT_EQ(lanes.count(), 1);
}

TEST(AsyncLanes, TheFiveHundredAndFirstOverlappingEventHasNoLane) {
  AsyncLanes lanes;
  for (int i = 0; i < AsyncLanes::kMostLanes; ++i) EXPECT_EQ(lanes.Place(0, 10), i);
  EXPECT_EQ(lanes.Place(5, 15), AsyncLanes::kNoLane);
  EXPECT_EQ(lanes.Place(10, 15), 0);
}

TEST(AsyncLanes, LaneTidsAreNoThreadIdsAndFitIntoAnInt) {
  EXPECT_EQ(LaneTid(917, 0), 917 + 4194304);
  EXPECT_LT(LaneTid(4194303, AsyncLanes::kMostLanes - 1), int64_t{1} << 31);
}

}  // namespace
}  // namespace ferret::chrome_trace
