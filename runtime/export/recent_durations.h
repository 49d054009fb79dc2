// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// RecentDurations: what is usual for training steps, and which one is slow.

#ifndef FERRET_RUNTIME_EXPORT_RECENT_DURATIONS_H_
#define FERRET_RUNTIME_EXPORT_RECENT_DURATIONS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ferret {

class RecentDurations {
 public:
  // The median is one of so many; of fewer than the first few nothing can be said.
  static constexpr size_t kRecent = 101;
  static constexpr size_t kFewest = 10;

  void Add(int64_t duration_ns) { recent_[seen_++ % kRecent] = duration_ns; }

  // 0 while nothing can be said.
  int64_t Median() const {
    if (seen_ < kFewest) return 0;
    std::array<int64_t, kRecent> sorted = recent_;
    const size_t count = std::min(seen_, kRecent);
    std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
    return sorted[count / 2];
  }

  // Longer than so many times the median of those that were added.
  bool IsSlow(int64_t duration_ns, double factor) const {
    if (seen_ < kFewest) return false;
    return static_cast<double>(duration_ns) > factor * static_cast<double>(Median());
  }

 private:
  std::array<int64_t, kRecent> recent_{};
  size_t seen_ = 0;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_RECENT_DURATIONS_H_
