// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/exponential_histogram.h"

namespace ferret::otlp {

int32_t ExponentialHistogram::IndexNearBorder(double mantissa) {
  // With eleven bits more there is one double in millions of millions that could still be taken for its neighbour.
  const long double position = log2l(static_cast<long double>(mantissa)) * (1 << kMaxScale);
  const int32_t within = static_cast<int32_t>(position);
  // 1 and 2 are never asked for; a logarithm that was rounded to one of them is inside.
  return std::min(within, (1 << kMaxScale) - 1);
}

void ExponentialHistogram::AddOutside(int32_t index) {
  if (counts_.empty()) {
    offset_ = index;
    counts_.assign(1, 1);
    return;
  }
  int32_t first = std::min(offset_, index);
  int32_t last = std::max(offset_ + static_cast<int32_t>(counts_.size()) - 1, index);
  int by = 0;
  while (static_cast<int64_t>(last >> by) - (first >> by) >= static_cast<int64_t>(kMaxBuckets)) ++by;
  if (by > 0) Coarsen(by);
  index >>= by;
  if (index < offset_) {
    counts_.insert(counts_.begin(), static_cast<size_t>(offset_ - index), 0);
    offset_ = index;
  }
  const size_t at = static_cast<size_t>(index - offset_);
  if (at >= counts_.size()) counts_.resize(at + 1, 0);
  ++counts_[at];
}

void ExponentialHistogram::Coarsen(int by) {
  const int32_t offset = offset_ >> by;
  size_t size = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const size_t to = static_cast<size_t>(((offset_ + static_cast<int32_t>(i)) >> by) - offset);
    const uint64_t count = counts_[i];
    // Never in front of what is still to be read: `to` <= i.
    if (to == size) counts_[size++] = 0;
    counts_[to] += count;
  }
  counts_.resize(size);
  offset_ = offset;
  shift_ += by;
}

void ExponentialHistogram::Clear() {
  count_ = zero_count_ = 0;
  sum_ns_ = 0;
  min_ns_ = UINT64_MAX;
  max_ns_ = 0;
  shift_ = 0;
  offset_ = 0;
  counts_.clear();
}

}  // namespace ferret::otlp
