// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The histogram against what long double and a list of all values say.

#include "exporters/otlp/metrics/exponential_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace ferret::otlp {
namespace {

constexpr int kTop = ExponentialHistogram::kMaxScale;

// The definition: the greatest i with 2^(i / 2^scale) < value.
int32_t IndexByDefinition(uint64_t ns, int scale) {
  const long double value = ExponentialHistogram::Seconds(ns);
  const long double width = ldexpl(1, -scale);
  int32_t index = static_cast<int32_t>(ceill(log2l(value) / width)) - 1;
  while (exp2l(width * index) >= value) --index;
  while (exp2l(width * (index + 1)) < value) ++index;
  return index;
}

// Durations as a program has them: one magnitude, some, or all.
std::vector<int64_t> RandomDurations(std::mt19937_64* random) {
  std::vector<int64_t> durations;
  const uint64_t kind = (*random)() % 4;
  const uint64_t least = 1 + (*random)() % 100000000;
  for (uint64_t left = 1 + (*random)() % 3000; left > 0; --left) {
    uint64_t ns = 0;
    switch (kind) {
      case 0: ns = least + (*random)() % (1 + least / 1000); break;
      case 1: ns = least + (*random)() % (1 + least * 3); break;
      case 2: ns = (*random)() >> (1 + (*random)() % 63); break;
      default: ns = (*random)() % 3; break;
    }
    durations.push_back(static_cast<int64_t>(ns & INT64_MAX));
  }
  if (kind == 2) durations.insert(durations.end(), {0, 1, INT64_MAX, INT64_MAX});
  std::shuffle(durations.begin(), durations.end(), *random);
  return durations;
}

std::map<int32_t, uint64_t> BucketsOf(const ExponentialHistogram& histogram, int scale) {
  std::map<int32_t, uint64_t> buckets;
  for (size_t i = 0; i < histogram.buckets().size(); ++i) {
    const uint64_t count = histogram.buckets()[i];
    if (count > 0) buckets[(histogram.offset() + static_cast<int32_t>(i)) >> (histogram.scale() - scale)] += count;
  }
  return buckets;
}

void ExpectExact(const ExponentialHistogram& histogram, const std::vector<int64_t>& durations) {
  uint64_t zeros = 0, least = UINT64_MAX, greatest = 0;
  unsigned __int128 sum = 0;
  std::map<int32_t, uint64_t> expected;
  for (const int64_t duration : durations) {
    const uint64_t ns = static_cast<uint64_t>(duration);
    sum += ns;
    least = std::min(least, ns);
    greatest = std::max(greatest, ns);
    if (ns == 0) {
      ++zeros;
    } else {
      ++expected[IndexByDefinition(ns, histogram.scale())];
    }
  }
  EXPECT_EQ(histogram.count(), durations.size());
  EXPECT_EQ(histogram.zero_count(), zeros);
  EXPECT_EQ(histogram.min(), static_cast<double>(least) / 1e9);
  EXPECT_EQ(histogram.max(), static_cast<double>(greatest) / 1e9);
  EXPECT_EQ(histogram.sum(), static_cast<double>(sum) / 1e9);
  EXPECT_EQ(BucketsOf(histogram, histogram.scale()), expected);
  EXPECT_LE(histogram.buckets().size(), ExponentialHistogram::kMaxBuckets);
  if (!expected.empty() && histogram.scale() < kTop) {
    // At the next finer scale they would not fit.
    int32_t first = INT32_MAX, last = INT32_MIN;
    for (const int64_t duration : durations) {
      if (duration == 0) continue;
      const int32_t index = IndexByDefinition(static_cast<uint64_t>(duration), histogram.scale() + 1);
      first = std::min(first, index);
      last = std::max(last, index);
    }
    EXPECT_GT(last - first + 1, static_cast<int32_t>(ExponentialHistogram::kMaxBuckets));
  }
}

TEST(ExponentialHistogram, IsTheExactAggregateOfAnyDurations) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::vector<int64_t> durations = RandomDurations(&random);
    ExponentialHistogram histogram;
    for (const int64_t ns : durations) histogram.Record(ns);
    ExpectExact(histogram, durations);
  }
}

TEST(ExponentialHistogram, MergedIntervalsAreTheWhole) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const std::vector<int64_t> durations = RandomDurations(&random);
    ExponentialHistogram whole, interval;
    for (const int64_t ns : durations) whole.Record(ns);
    std::map<int32_t, uint64_t> merged;
    uint64_t count = 0, zeros = 0;
    double least = INFINITY, greatest = 0;
    const auto collect = [&] {
      ASSERT_GE(interval.scale(), whole.scale());
      for (const auto& [index, n] : BucketsOf(interval, whole.scale())) merged[index] += n;
      count += interval.count();
      zeros += interval.zero_count();
      if (!interval.empty()) {
        least = std::min(least, interval.min());
        greatest = std::max(greatest, interval.max());
      }
      interval.Clear();
    };
    for (const int64_t ns : durations) {
      interval.Record(ns);
      if (random() % 50 == 0) collect();
    }
    collect();
    EXPECT_EQ(merged, BucketsOf(whole, whole.scale()));
    EXPECT_EQ(count, whole.count());
    EXPECT_EQ(zeros, whole.zero_count());
    EXPECT_EQ(least, whole.min());
    EXPECT_EQ(greatest, whole.max());
  }
}

TEST(ExponentialHistogram, TheOrderOfValuesDoesNotMatter) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> durations = RandomDurations(&random);
    ExponentialHistogram one, other;
    for (const int64_t ns : durations) one.Record(ns);
    std::shuffle(durations.begin(), durations.end(), random);
    for (const int64_t ns : durations) other.Record(ns);
    EXPECT_EQ(one.scale(), other.scale());
    EXPECT_EQ(one.offset(), other.offset());
    EXPECT_EQ(one.buckets(), other.buckets());
    EXPECT_EQ(one.sum(), other.sum());
  }
}

TEST(ExponentialHistogram, APowerOfTwoBelongsToTheBucketBelow) {
  // 5^9 * 2^j nanoseconds are 2^(j-9) seconds, exactly.
  for (int j = 0; j < 42; ++j) {
    const uint64_t ns = uint64_t{1953125} << j;
    ASSERT_EQ(ExponentialHistogram::Seconds(ns), std::ldexp(1, j - 9));
    const int32_t border = (j - 9) * (1 << kTop);
    EXPECT_EQ(ExponentialHistogram::IndexOf(ns), border - 1);
    // Of doubles, those next to it.
    const uint64_t step = std::max<uint64_t>(1, ns >> 52);
    EXPECT_LT(ExponentialHistogram::IndexOf(ns - step), border);
    EXPECT_GE(ExponentialHistogram::IndexOf(ns + 2 * step), border);
  }
}

TEST(ExponentialHistogram, ValuesNextToBordersAreOnTheRightSideOfThem) {
  std::mt19937_64 random(4);
  int near = 0;
  for (int round = 0; round < 20000; ++round) {
    const int scale = static_cast<int>(random() % (kTop + 1));
    const int octave = static_cast<int>(random() % 62) - 29;
    const int64_t part = static_cast<int64_t>(random() % (uint64_t{1} << scale));
    const long double border = exp2l(octave + ldexpl(static_cast<long double>(part), -scale));
    const long double ns = border * 1e9L;
    if (ns < 10 || ns > 9e18L) continue;
    const uint64_t middle = static_cast<uint64_t>(ns);
    const uint64_t step = std::max<uint64_t>(1, middle >> 53);
    for (int k = -3; k <= 3; ++k) {
      const uint64_t value = middle + static_cast<uint64_t>(k) * step;
      ASSERT_EQ(ExponentialHistogram::IndexOf(value), IndexByDefinition(value, kTop)) << value;
      near += std::fabs(static_cast<double>(ExponentialHistogram::Seconds(value) / border - 1)) < 1e-15;
    }
  }
  EXPECT_GT(near, 1000);  // that close that a double's logarithm is not enough
}

TEST(BucketTable, HasTheDoublesOnBothSidesOfEveryBorder) {
  const BucketTable& table = BucketTable::Get();
  constexpr int kBuckets = 1 << BucketTable::kScale;
  for (int octave = -30; octave < 34; ++octave) {
    for (int i = 0; i < kBuckets; ++i) {
      const int32_t index = octave * kBuckets + i;
      const long double border = exp2l(static_cast<long double>(index) / kBuckets);
      double value = static_cast<double>(border);
      for (int k = 0; k < 3; ++k) value = std::nextafter(value, 0);
      for (int k = 0; k < 7; ++k, value = std::nextafter(value, INFINITY)) {
        ASSERT_EQ(table.IndexOf(value), static_cast<long double>(value) > border ? index : index - 1) << index;
      }
    }
  }
}

TEST(BucketTable, IsTheSameAsTheIndexAtTheFinestScale) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200000; ++round) {
    const uint64_t ns = 1 + (random() >> (1 + random() % 62));
    const int32_t index = ExponentialHistogram::IndexOf(ns) >> (kTop - BucketTable::kScale);
    ASSERT_EQ(BucketTable::Get().IndexOf(ExponentialHistogram::Seconds(ns)), index) << ns;
  }
}

TEST(ExponentialHistogram, AtACoarserScaleTheIndexIsTheSameNumberShifted) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round) {
    const uint64_t ns = 1 + (random() >> (1 + random() % 62));
    const int scale = static_cast<int>(random() % (kTop + 1));
    ASSERT_EQ(ExponentialHistogram::IndexOf(ns) >> (kTop - scale), IndexByDefinition(ns, scale)) << ns;
  }
}

TEST(ExponentialHistogram, ManyOfTheLongestDurationAddUp) {
  ExponentialHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.Record(INT64_MAX);
  EXPECT_EQ(histogram.sum(), static_cast<double>(static_cast<unsigned __int128>(INT64_MAX) * 1000) / 1e9);
  EXPECT_EQ(histogram.buckets(), std::vector<uint64_t>{1000});
  EXPECT_EQ(histogram.scale(), kTop);
}

TEST(ExponentialHistogram, NegativeDurationsAreZero) {
  ExponentialHistogram histogram;
  histogram.Record(-5);
  histogram.Record(INT64_MIN);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.zero_count(), 2u);
  EXPECT_EQ(histogram.sum(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_TRUE(histogram.buckets().empty());
}

TEST(ExponentialHistogram, TakesMemoryForTheBucketsInUseAndKeepsItWhenCleared) {
  ExponentialHistogram one;
  for (int i = 0; i < 100; ++i) one.Record(1000);
  EXPECT_LE(one.bytes(), 64u);

  ExponentialHistogram wide;
  for (int64_t ns = 1; ns < INT64_MAX / 3; ns *= 2) wide.Record(ns);
  EXPECT_LE(wide.bytes(), 2 * ExponentialHistogram::kMaxBuckets * sizeof(uint64_t));
  const size_t bytes = wide.bytes();
  wide.Clear();
  EXPECT_TRUE(wide.empty());
  EXPECT_EQ(wide.scale(), kTop);
  wide.Record(7);
  EXPECT_EQ(wide.bytes(), bytes);
  EXPECT_EQ(wide.min_ns(), 7u);
  EXPECT_EQ(wide.max_ns(), 7u);
}

}  // namespace
}  // namespace ferret::otlp
