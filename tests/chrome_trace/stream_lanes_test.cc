// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/stream_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace ferret::chrome_trace {
namespace {

using Interval = std::pair<int64_t, int64_t>;
using Lanes = std::map<int, std::vector<Interval>>;

bool Nests(std::vector<Interval> lane) {
  std::sort(lane.begin(), lane.end(), [](const Interval& a, const Interval& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<int64_t> open;
  for (const auto& [start, end] : lane) {
    while (!open.empty() && open.back() <= start) open.pop_back();
    if (!open.empty() && end > open.back()) return false;
    open.push_back(end);
  }
  return true;
}

TEST(StreamLanes, WhateverOrderIntervalsComeInEachLaneNests) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    StreamLanes lanes;
    Lanes placed;
    const int64_t spread = 50 << random() % 12;
    for (int64_t i = 0; i < 5000; ++i) {
      // Mostly in order, some late; of any length, some of none.
      const int64_t start = 10 * i + static_cast<int64_t>(random()) % spread - (random() % 50 == 0 ? 20000 : 0);
      const int64_t end = start + static_cast<int64_t>(random()) % (random() % 20 == 0 ? 40 * spread : spread);
      placed[lanes.Place(start, end)].emplace_back(start, end);
    }
    EXPECT_GT(placed.size(), 1u);
    EXPECT_EQ(placed.rbegin()->first, lanes.count() - 1);
    for (const auto& [number, intervals] : placed) EXPECT_TRUE(Nests(intervals)) << round << ", lane " << number;
  }
}

TEST(StreamLanes, OuterIntervalsStayWithWhatIsInsideThoughTheyComeLater) {
  StreamLanes lanes;
  int64_t time = 0;
  for (int step = 0; step < 100; ++step) {
    const int64_t step_start = time++;
    for (int layer = 0; layer < 10; ++layer) {
      const int64_t layer_start = time++;
      for (int kernel = 0; kernel < 50; ++kernel, time += 10) EXPECT_EQ(lanes.Place(time, time + 9), 0);
      EXPECT_EQ(lanes.Place(layer_start, time++), 0);
    }
    EXPECT_EQ(lanes.Place(step_start, time++), 0);
  }
  EXPECT_EQ(lanes.count(), 1);
}

TEST(StreamLanes, AnOuterIntervalMayHaveManyMoreInsideThanAreRemembered) {
  StreamLanes lanes;
  int64_t time = 0;
  for (int step = 0; step < 20; ++step) {
    const int64_t step_start = time++;
    for (size_t kernel = 0; kernel < 10 * StreamLanes::kMostSpans; ++kernel, time += 10) {
      ASSERT_EQ(lanes.Place(time, time + 9), 0);
    }
    EXPECT_EQ(lanes.Place(step_start, time++), 0) << step;
  }
}

TEST(StreamLanes, WhatMayCrossSomethingForgottenGoesElsewhere) {
  StreamLanes lanes;
  for (int64_t i = 0; i < 100000; ++i) lanes.Place(10 * i, 10 * i + 9);
  // Between two that are remembered as one.
  EXPECT_EQ(lanes.Place(9, 10), 1);
  EXPECT_EQ(lanes.Place(999'990, 2'000'000), 0) << "what is new is known well";
  EXPECT_EQ(lanes.Place(-5, 3'000'000), 0) << "around everything";
}

TEST(StreamLanes, ThoseThatCrossTakeTheFirstLaneWithRoom) {
  StreamLanes lanes;
  EXPECT_EQ(lanes.Place(0, 10), 0);
  EXPECT_EQ(lanes.Place(5, 15), 1);
  EXPECT_EQ(lanes.Place(8, 20), 2);
  EXPECT_EQ(lanes.Place(10, 12), 0);
  EXPECT_EQ(lanes.Place(16, 18), 0);
  EXPECT_EQ(lanes.Place(0, 10), 0) << "the same once more is inside";
  EXPECT_EQ(lanes.count(), 3);
}

TEST(StreamLanes, WhenManyAreOpenTheOldestIsClosedAndItsNumberNeverUsedAgain) {
  StreamLanes lanes;
  Lanes placed;
  // Each crosses all others.
  for (int64_t i = 0; i < 1000; ++i) placed[lanes.Place(i, 10000 + i)].emplace_back(i, 10000 + i);
  EXPECT_EQ(placed.size(), 1000u);
  EXPECT_EQ(lanes.count(), 1000);
  EXPECT_EQ(lanes.latest_end(), 10999);
}

TEST(StreamLanes, AStreamThatComesAgainKeepsClearOfWhatIsForgottenOfIt) {
  StreamLanes lanes(3, 1000);
  EXPECT_EQ(lanes.Place(1000, 1010), 0);
  EXPECT_EQ(lanes.Place(990, 1005), 3) << "0 to 2 may have had something there";
  EXPECT_EQ(lanes.Place(1010, 1020), 0);
}

TEST(NestingLane, RemembersNoMoreThanItsBound) {
  NestingLane lane(64);
  std::mt19937 random(4);
  for (int64_t i = 0; i < 100000; ++i) {
    lane.Place(10 * i, 10 * i + static_cast<int64_t>(random() % 10));
    if (random() % 7 == 0) lane.Place(10 * i - static_cast<int64_t>(random() % 1000), 10 * i + 10);
    ASSERT_LE(lane.size(), 64u);
  }
}

}  // namespace
}  // namespace ferret::chrome_trace
