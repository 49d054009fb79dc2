// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DurationHistogram: how often which duration occurred, in fixed memory, for percentiles.
//
//     nanoseconds    buckets
//     0 … 15         one each: exact
//     16 … 31        16 of 1 ns
//     32 … 63        16 of 2 ns
//     64 … 127       16 of 4 ns      and so on: 16 for each power of two, up to 2^47 (39 hours)
//
// A percentile is told as the middle of its bucket, so it is off by at most half of a bucket: 1/32 of the value, 3.2 %.
// What is longer shares the last bucket. Histograms with the same buckets add up, also over processes.

#ifndef FERRET_EXPORTERS_TABLE_DURATION_HISTOGRAM_H_
#define FERRET_EXPORTERS_TABLE_DURATION_HISTOGRAM_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ferret::table {

class DurationHistogram {
 public:
  static constexpr double kRelativeError = 1.0 / 32;
  static constexpr int kTopBit = 46;  // of the longest duration with a bucket of its own kind
  static constexpr size_t kBuckets = 16 + (kTopBit - 3) * 16;

  // Negative durations count as 0.
  static size_t BucketOf(int64_t ns) {
    const uint64_t value = ns < 0 ? 0 : static_cast<uint64_t>(ns);
    if (value < 16) return static_cast<size_t>(value);
    const int top = 63 - __builtin_clzll(value);
    if (top > kTopBit) return kBuckets - 1;
    // The four bits behind the leading one choose among the 16.
    return static_cast<size_t>(top - 3) * 16 + (value >> (top - 4) & 15);
  }
  // The least duration in it.
  static int64_t LowestIn(size_t bucket) {
    if (bucket < 16) return static_cast<int64_t>(bucket);
    const int top = static_cast<int>(bucket / 16) + 3;
    return static_cast<int64_t>((16 | bucket % 16) << (top - 4));
  }
  static int64_t MiddleOf(size_t bucket) {
    const int64_t lowest = LowestIn(bucket);
    const int64_t width = bucket < 16 ? 1 : int64_t{1} << (bucket / 16 - 1);
    return lowest + (width - 1) / 2;
  }

  void Add(int64_t ns) { ++counts_[BucketOf(ns)]; }
  void Add(const DurationHistogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  }
  uint64_t count(size_t bucket) const { return counts_[bucket]; }

  // The duration that `share` (0 to 1) of all are not longer than, at most `max`; 0 of an empty histogram.
  int64_t Percentile(double share, int64_t max) const {
    uint64_t total = 0;
    for (const uint64_t count : counts_) total += count;
    if (total == 0) return 0;
    const double wanted = std::ceil(share * static_cast<double>(total));
    const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, total);
    uint64_t seen = 0;
    size_t bucket = 0;
    while ((seen += counts_[bucket]) < rank) ++bucket;
    if (bucket == kBuckets - 1) return max;  // may hold anything longer
    return std::min(MiddleOf(bucket), max);
  }

 private:
  uint64_t counts_[kBuckets] = {};
};

}  // namespace ferret::table

#endif  // FERRET_EXPORTERS_TABLE_DURATION_HISTOGRAM_H_
