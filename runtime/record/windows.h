// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows: the stretches of time that a session records in. A session without a schedule has one, from start to stop;
// with one it has any number, and nothing is recorded between them.
//
// Chunks carry the number of the window that they were opened in, and a thread opens a new chunk with its first record
// in a new window. What a late thread writes into its old chunk after the window's end belongs to nothing any more; the
// drain asks here when that end was.

#ifndef FERRET_RUNTIME_RECORD_WINDOWS_H_
#define FERRET_RUNTIME_RECORD_WINDOWS_H_

#include <atomic>
#include <cstdint>

namespace ferret::internal {

// Begin and End are called by whoever turns recording on and off, one at a time; the rest by any thread.
class Windows {
 public:
  // As many ends are remembered. A thread that comes back after more windows has its open scopes closed at its last
  // record.
  static constexpr uint32_t kRemembered = 1024;
  // Answers of EndOf besides clock ticks.
  static constexpr uint64_t kNotEnded = 0;
  static constexpr uint64_t kForgotten = ~uint64_t{0};

  static Windows& Global();

  // A new window's number, never 0 and never that of another one.
  uint32_t Begin() {
    const uint32_t window = current_.load(std::memory_order_relaxed) + 1;
    ends_[window % kRemembered].store(kNotEnded, std::memory_order_relaxed);
    // Release, acquired by EndOf: whoever sees the number sees that the window has not ended.
    current_.store(window, std::memory_order_release);
    return window;
  }
  void End(uint64_t ticks) {
    ends_[current_.load(std::memory_order_relaxed) % kRemembered].store(ticks, std::memory_order_release);
  }
  // For a reader of a crash file: windows of another process, in their order.
  void Remember(uint32_t window, uint64_t end) {
    ends_[window % kRemembered].store(end, std::memory_order_relaxed);
    current_.store(window, std::memory_order_release);
  }
  uint32_t current() const { return current_.load(std::memory_order_acquire); }

  // When that window ended, in clock ticks.
  uint64_t EndOf(uint32_t window) const {
    const uint64_t end = ends_[window % kRemembered].load(std::memory_order_acquire);
    // Looked at last: if the place was given to another window meanwhile, the number shows it.
    return current_.load(std::memory_order_acquire) - window < kRemembered ? end : kForgotten;
  }

 private:
  std::atomic<uint32_t> current_{0};
  std::atomic<uint64_t> ends_[kRemembered] = {};
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_WINDOWS_H_
