// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// RateLimit: so many a second, with bursts of a tenth of a second's worth. Any thread, no locks.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_RATE_LIMIT_H_
#define FERRET_RUNTIME_DEVICE_CUDA_RATE_LIMIT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ferret::internal {

class RateLimit {
 public:
  // `ticks`: of the clock that Allow is given, between two at the full rate; 0 allows everything. Before the first Allow.
  void Set(uint64_t ticks, uint64_t per_second) {
    interval_.store(ticks, std::memory_order_relaxed);
    burst_.store(ticks * std::max<uint64_t>(1, per_second / 10), std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
  }

  // The moment that the next one is due by the rate alone moves on with each; it may be a burst ahead of now.
  bool Allow(uint64_t now) {
    const uint64_t interval = interval_.load(std::memory_order_relaxed);
    if (interval == 0) return true;
    const uint64_t burst = burst_.load(std::memory_order_relaxed);
    // Relaxed: the number is all there is.
    uint64_t next = next_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t due = std::max(next, now);
      if (due - now >= burst) return false;
      if (next_.compare_exchange_weak(next, due + interval, std::memory_order_relaxed)) return true;
    }
  }

 private:
  std::atomic<uint64_t> interval_{0};
  std::atomic<uint64_t> burst_{0};
  std::atomic<uint64_t> next_{0};
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_RATE_LIMIT_H_
