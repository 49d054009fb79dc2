// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// BucketTable: the bucket of a value at scale 7, and so at every coarser one, without a logarithm.
//
// An octave, from one power of two to the next, has 128 buckets and is cut into 256 slots of equal width. No slot is
// wider than a bucket, so it has one border in it at most: a value is in the bucket at its slot's start or in the next.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_BUCKET_TABLE_H_
#define FERRET_EXPORTERS_OTLP_METRICS_BUCKET_TABLE_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ferret::otlp {

class BucketTable {
 public:
  static constexpr int kScale = 7;

  static const BucketTable& Get() {
    static const BucketTable table;
    return table;
  }

  // Of a normal, positive value: the i with 2^(i/128) < value <= 2^((i+1)/128).
  int32_t IndexOf(double value) const {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const uint64_t fraction = bits & kFractionMask;
    const int32_t octave = static_cast<int32_t>(bits >> kFractionBits) - 1023;
    int32_t within = first_[fraction >> (kFractionBits - kSlotBits)];
    within += fraction > borders_[static_cast<size_t>(within) + 1];
    // A power of two belongs to the octave below it.
    return octave * kBuckets + within - (fraction == 0);
  }

 private:
  static constexpr int kFractionBits = 52;
  static constexpr uint64_t kFractionMask = (uint64_t{1} << kFractionBits) - 1;
  static constexpr int kSlotBits = 8;
  static constexpr int kBuckets = 1 << kScale;

  BucketTable() {
    for (int i = 0; i < kBuckets; ++i) {
      const long double border = exp2l(static_cast<long double>(i) / kBuckets);
      double below = static_cast<double>(border);
      if (static_cast<long double>(below) > border) below = std::nextafter(below, 0);
      std::memcpy(&borders_[static_cast<size_t>(i)], &below, sizeof(below));
      borders_[static_cast<size_t>(i)] &= kFractionMask;
    }
    borders_[kBuckets] = kFractionMask;  // nothing is behind it
    uint8_t bucket = 0;
    for (uint64_t slot = 0; slot < first_.size(); ++slot) {
      while (borders_[size_t{bucket} + 1] < slot << (kFractionBits - kSlotBits)) ++bucket;
      first_[slot] = bucket;
    }
  }

  // The fractions of the greatest doubles that are not behind a border.
  std::array<uint64_t, kBuckets + 1> borders_{};
  std::array<uint8_t, size_t{1} << kSlotBits> first_{};  // the bucket at a slot's start
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_BUCKET_TABLE_H_
