// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// WakeSignal: what a background thread sleeps on. Waking it takes no lock and may be done from anywhere, also by recording
// threads and signal handlers; a storm of wakes posts once.

#ifndef FERRET_RUNTIME_THREADS_WAKE_SIGNAL_H_
#define FERRET_RUNTIME_THREADS_WAKE_SIGNAL_H_

#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace ferret {

class WakeSignal {
 public:
  WakeSignal() { sem_init(&posted_, 0, 0); }
  ~WakeSignal() { sem_destroy(&posted_); }
  WakeSignal(const WakeSignal&) = delete;
  WakeSignal& operator=(const WakeSignal&) = delete;

  void Wake() {
    if (!on_its_way_.load(std::memory_order_relaxed) && !on_its_way_.exchange(true, std::memory_order_relaxed)) {
      sem_post(&posted_);
    }
  }

  // Until it is woken, or at most so long. One thread at a time.
  void Wait(int64_t timeout_ns) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t ns = until.tv_nsec + timeout_ns;
    until.tv_sec += ns / 1'000'000'000;
    until.tv_nsec = ns % 1'000'000'000;
    sem_clockwait(&posted_, CLOCK_MONOTONIC, &until);
    on_its_way_.store(false, std::memory_order_relaxed);
  }

 private:
  sem_t posted_;
  // Relaxed: the semaphore orders.
  std::atomic<bool> on_its_way_{false};
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_THREADS_WAKE_SIGNAL_H_
