// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace ferret::table {
namespace {

using Histogram = DurationHistogram;

// By the definition: the least duration that `share` of all are not longer than.
int64_t Exact(std::vector<int64_t> durations, double share) {
  std::sort(durations.begin(), durations.end());
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(durations.size())));
  return durations[std::max<size_t>(rank, 1) - 1];
}

TEST(DurationHistogram, BucketsFollowEachOtherWithoutGapOrOverlap) {
  for (size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    const int64_t lowest = Histogram::LowestIn(bucket);
    EXPECT_EQ(Histogram::BucketOf(lowest), bucket);
    if (bucket > 0) {
      EXPECT_EQ(Histogram::BucketOf(lowest - 1), bucket - 1);
    }
    EXPECT_EQ(Histogram::BucketOf(Histogram::MiddleOf(bucket)), bucket);
  }
}

TEST(DurationHistogram, WhatIsOutOfRangeFallsIntoTheNearestBucket) {
  EXPECT_EQ(Histogram::BucketOf(-1), 0u);
  EXPECT_EQ(Histogram::BucketOf(INT64_MIN), 0u);
  EXPECT_EQ(Histogram::BucketOf(INT64_MAX), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::BucketOf(int64_t{1} << 47), Histogram::kBuckets - 1);
  EXPECT_LT(Histogram::BucketOf((int64_t{1} << 46) + 1), Histogram::kBuckets - 1);
  const auto histogram = std::make_unique<Histogram>();
  histogram->Add(INT64_MAX - 7);
  EXPECT_EQ(histogram->Percentile(0.5, INT64_MAX - 7), INT64_MAX - 7);
}

TEST(DurationHistogram, EveryDurationIsWithinTheStatedErrorOfItsBucketsMiddle) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const int64_t ns = static_cast<int64_t>(random() >> (18 + random() % 46));
    const size_t bucket = Histogram::BucketOf(ns);
    if (bucket == Histogram::kBuckets - 1) continue;
    const double error = std::abs(static_cast<double>(Histogram::MiddleOf(bucket) - ns));
    ASSERT_LE(error, Histogram::kRelativeError * static_cast<double>(ns)) << ns;
  }
}

TEST(DurationHistogram, PercentilesAreWithinTheStatedErrorOfTheExactOnes) {
  std::mt19937_64 random(2);
  for (const size_t count : {1, 2, 3, 10, 99, 1000, 20'000}) {
    const auto histogram = std::make_unique<Histogram>();
    std::vector<int64_t> durations;
    std::lognormal_distribution<double> like_a_run(9, 2.5);
    for (size_t i = 0; i < count; ++i) {
      durations.push_back(static_cast<int64_t>(like_a_run(random)));
      histogram->Add(durations.back());
    }
    const int64_t max = *std::max_element(durations.begin(), durations.end());
    for (const double share : {0.0, 0.01, 0.5, 0.95, 0.99, 1.0}) {
      const auto exact = static_cast<double>(Exact(durations, share));
      EXPECT_NEAR(static_cast<double>(histogram->Percentile(share, max)), exact, exact * Histogram::kRelativeError)
          << share << " of " << count;
    }
  }
}

TEST(DurationHistogram, ShortOnesAreExactAndAnEmptyOneIsZero) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(histogram->Percentile(0.5, 0), 0);
  for (int64_t ns = 1; ns <= 31; ++ns) histogram->Add(ns);
  EXPECT_EQ(histogram->Percentile(0.5, 31), 16);
  EXPECT_EQ(histogram->Percentile(1, 31), 31);
  EXPECT_EQ(histogram->Percentile(1.0 / 31, 31), 1);
}

TEST(DurationHistogram, TwoAddUpToTheOneOfBoth) {
  std::mt19937_64 random(3);
  const auto all = std::make_unique<Histogram>(), odd = std::make_unique<Histogram>(),
             even = std::make_unique<Histogram>();
  for (int i = 0; i < 10'000; ++i) {
    const auto ns = static_cast<int64_t>(random() % 100'000'000);
    all->Add(ns);
    (i % 2 == 1 ? odd : even)->Add(ns);
  }
  odd->Add(*even);
  for (size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) EXPECT_EQ(odd->count(bucket), all->count(bucket));
}

}  // namespace
}  // namespace ferret::table
