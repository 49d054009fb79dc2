// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExponentialHistogram: how often which duration occurred, as OpenTelemetry's base-2 exponential histogram has it.
//
// Durations are given in integer nanoseconds and shown in seconds: a duration's value is the double nearest to
// ns / 1e9. With base = 2^(2^-scale), bucket i holds the values in (base^i, base^(i+1)]. The scale is the finest, up to
// kMaxScale, at which all values fit into kMaxBuckets buckets that follow one another: it depends on the least and the
// greatest value only, not on their order, so histograms of parts add up to that of the whole.
//
// Only the buckets from the least to the greatest value take memory. The sum is exact: it is kept in nanoseconds, wider
// than any number of durations can make it.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_EXPONENTIAL_HISTOGRAM_H_
#define FERRET_EXPORTERS_OTLP_METRICS_EXPONENTIAL_HISTOGRAM_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "exporters/otlp/metrics/bucket_table.h"

namespace ferret::otlp {

class ExponentialHistogram {
 public:
  static constexpr int kMaxScale = 20;
  static constexpr size_t kMaxBuckets = 160;

  // The value of a duration: negative ones count as 0.
  static double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }
  // The bucket, at kMaxScale, of the value of `ns` > 0. At a coarser scale it is this number, shifted to the right.
  static int32_t IndexOf(uint64_t ns) {
    const double value = Seconds(ns);
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const uint64_t fraction = bits & kFractionMask;
    const int32_t below = static_cast<int32_t>(static_cast<int64_t>(bits >> 52) - 1023) * (1 << kMaxScale);
    // A power of two is a border, and belongs to the bucket below it. No other double is one: all other borders are
    // irrational.
    if (fraction == 0) return below - 1;
    uint64_t mantissa_bits = kOneBits | fraction;
    double mantissa;
    std::memcpy(&mantissa, &mantissa_bits, sizeof(mantissa));
    const double position = std::log2(mantissa) * (1 << kMaxScale);
    const int32_t within = static_cast<int32_t>(position);
    const double behind = position - within;
    // Nearer to a border than the logarithm is exact.
    if (__builtin_expect(behind < kUnsure || behind > 1 - kUnsure, 0)) return below + IndexNearBorder(mantissa);
    return below + within;
  }

  // Negative durations count as 0.
  void Record(int64_t ns) {
    const uint64_t value = ns < 0 ? 0 : static_cast<uint64_t>(ns);
    min_ns_ = std::min(min_ns_, value);
    max_ns_ = std::max(max_ns_, value);
    sum_ns_ += value;
    ++count_;
    if (value == 0) {
      ++zero_count_;
      return;
    }
    // Most histograms are coarse.
    constexpr int kTableShift = kMaxScale - BucketTable::kScale;
    const int32_t index = __builtin_expect(shift_ >= kTableShift, 1)
                              ? table_->IndexOf(Seconds(value)) >> (shift_ - kTableShift)
                              : IndexOf(value) >> shift_;
    // What is below the first bucket is a very large number here.
    const size_t at = static_cast<size_t>(static_cast<int64_t>(index) - offset_);
    if (__builtin_expect(at < counts_.size(), 1)) {
      ++counts_[at];
    } else {
      AddOutside(index);
    }
  }

  uint64_t count() const { return count_; }
  uint64_t zero_count() const { return zero_count_; }
  bool empty() const { return count_ == 0; }
  // Of an empty histogram the least is UINT64_MAX and the greatest 0.
  uint64_t min_ns() const { return min_ns_; }
  uint64_t max_ns() const { return max_ns_; }
  double min() const { return Seconds(min_ns_); }
  double max() const { return Seconds(max_ns_); }
  double sum() const { return static_cast<double>(sum_ns_) / 1e9; }
  int scale() const { return kMaxScale - shift_; }
  // The number of the first bucket in buckets(). Neither the first nor the last one is empty.
  int32_t offset() const { return offset_; }
  const std::vector<uint64_t>& buckets() const { return counts_; }

  // As new, but the memory stays: the next interval's buckets will be about as many.
  void Clear();
  size_t bytes() const { return counts_.capacity() * sizeof(uint64_t); }

 private:
  using Nanos = unsigned __int128;
  static constexpr uint64_t kFractionMask = (uint64_t{1} << 52) - 1;
  static constexpr uint64_t kOneBits = uint64_t{1023} << 52;
  // The logarithm of a number in (1, 2) is off by less than 2^-52, so the position by less than 2^-32.
  static constexpr double kUnsure = 1.0 / (1 << 30);

  static int32_t IndexNearBorder(double mantissa);
  // Makes room for a value in bucket `index` of the present scale, which may become coarser, and counts it.
  void AddOutside(int32_t index);
  // Each bucket becomes a part of one that is 2^by times as wide.
  void Coarsen(int by);

  const BucketTable* table_ = &BucketTable::Get();
  uint64_t count_ = 0;
  uint64_t zero_count_ = 0;
  Nanos sum_ns_ = 0;
  uint64_t min_ns_ = UINT64_MAX;
  uint64_t max_ns_ = 0;
  int32_t shift_ = 0;
  int32_t offset_ = 0;
  std::vector<uint64_t> counts_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_EXPONENTIAL_HISTOGRAM_H_
