// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where pairs lie, from what is known of them.

#include "runtime/device/pair_placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace ferret::internal {
namespace {

// Both clocks the same, anchors a second apart that are good to 1 µs.
DeviceClock EqualClocks() {
  DeviceClock clock;
  for (int64_t s = 0; s <= 10; ++s) clock.Add(s * 1'000'000'000, s * 1'000'000'000 - 1'000, s * 1'000'000'000 + 1'000);
  return clock;
}

PassedPair At(int64_t start_ns, int64_t end_ns, int64_t begin_ns, int64_t seen_ns) {
  PassedPair pair;
  pair.pair.begin_ns = begin_ns;
  pair.pair.end_ns = begin_ns;
  pair.seen_ns = seen_ns;
  pair.duration_ns = end_ns - start_ns;
  pair.located = true;
  pair.device_end_ns = end_ns;
  return pair;
}

TEST(PairPlacement, PutsAPairWhereTheClocksSayWithTheAnchorsError) {
  PlacementCounts counts;
  const auto placed = PlacePairs(EqualClocks(), {At(5'000'100'000, 5'000'150'000, 5'000'000'000, 5'001'000'000)}, &counts);
  EXPECT_EQ(placed[0].start_ns, 5'000'100'000);
  EXPECT_EQ(placed[0].end_ns, 5'000'150'000);
  EXPECT_GE(placed[0].error_ns, 2'000);
  EXPECT_LE(placed[0].error_ns, 3'000);
  EXPECT_EQ(counts.moved, 0u);
}

TEST(PairPlacement, MovesAllPairsByWhatOneNeedsSoThatTheirOrderStays) {
  PlacementCounts counts;
  const auto placed = PlacePairs(EqualClocks(),
                                 {At(5'000'000'000, 5'000'010'000, 5'000'001'500, 5'001'000'000),
                                  At(5'000'010'200, 5'000'020'000, 5'000'002'000, 5'001'000'000)},
                                 &counts);
  EXPECT_EQ(placed[0].start_ns, 5'000'001'500);
  EXPECT_EQ(placed[1].start_ns, 5'000'011'700);
  EXPECT_EQ(counts.moved, 1u);
  EXPECT_EQ(counts.suspect, 0u);
}

TEST(PairPlacement, APairThatCouldNotBeLocatedMovesNoOther) {
  PlacementCounts counts;
  PassedPair unlocated = At(0, 1'000'000, 5'000'000'000, 5'900'000'000);
  unlocated.located = false;
  unlocated.pair.end_ns = 5'020'000'000;  // put over 20 ms
  const auto placed = PlacePairs(EqualClocks(),
                                 {unlocated, At(5'000'100'000, 5'000'150'000, 5'000'000'000, 5'001'000'000)}, &counts);
  EXPECT_EQ(placed[1].start_ns, 5'000'100'000);
  EXPECT_LE(placed[1].error_ns, 3'000);
  // What is known of the other one for certain holds.
  EXPECT_GE(placed[0].start_ns, 5'000'000'000);
  EXPECT_GE(placed[0].end_ns, 5'020'000'000);
  EXPECT_LE(placed[0].end_ns, 5'900'000'000);
}

TEST(PairPlacement, NothingEndsAfterItWasSeenToHaveEnded) {
  PlacementCounts counts;
  const auto placed = PlacePairs(EqualClocks(), {At(5'000'100'000, 5'000'150'000, 5'000'000'000, 5'000'148'000)}, &counts);
  EXPECT_EQ(placed[0].end_ns, 5'000'148'000);
  EXPECT_EQ(placed[0].start_ns, 5'000'098'000);
  EXPECT_EQ(counts.moved, 1u);
}

TEST(PairPlacement, WhatContradictsItsCertainBoundsByMoreThanItsErrorIsSuspect) {
  PlacementCounts counts;
  const auto placed = PlacePairs(EqualClocks(), {At(5'000'100'000, 5'000'150'000, 5'500'000'000, 5'600'000'000)}, &counts);
  EXPECT_GE(placed[0].start_ns, 5'500'000'000);
  EXPECT_EQ(counts.suspect, 1u);
}

// The ratio of the clocks was another one before the pause than after it.
TEST(PairPlacement, ARatioThatChangesWhileNobodyLooksStaysWithinTheBound) {
  DeviceClock clock;
  for (int64_t s = 0; s <= 8; ++s) clock.Add(s * 1'000'000'000, s * 1'000'000'000 - 1'000, s * 1'000'000'000 + 1'000);
  // 10 s at the old ratio, 10 s at one that is 15 ppm faster.
  const int64_t middle = 18'000'000'000;
  const int64_t end = 28'000'000'000 + 150'000;
  clock.Add(28'000'000'000, end - 1'000, end + 1'000);
  const DeviceClock::Place place = clock.At(middle, 0, INT64_MAX);
  EXPECT_LE(std::abs(place.cpu_ns - middle), place.error_ns);
}

}  // namespace
}  // namespace ferret::internal
