// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FlightBell: what a flight recorder's thread sleeps on, and what a signal handler rings.
//
// No ring is lost: each one posts. A signal handler may ring it at any moment, so it lives as long as the process.

#ifndef FERRET_RUNTIME_EXPORT_FLIGHT_BELL_H_
#define FERRET_RUNTIME_EXPORT_FLIGHT_BELL_H_

#include <semaphore.h>

#include <atomic>
#include <cstdint>

namespace ferret {

class FlightBell {
 public:
  FlightBell() { sem_init(&rings_, 0, 0); }
  FlightBell(const FlightBell&) = delete;
  FlightBell& operator=(const FlightBell&) = delete;

  // Async-signal-safe.
  void Ring() { sem_post(&rings_); }
  void RingForSignal() {
    signals_.fetch_add(1, std::memory_order_relaxed);  // ordered by the semaphore
    Ring();
  }

  // Until it is rung. One thread at a time.
  void Wait() {
    while (sem_wait(&rings_) != 0) {
    }
    while (sem_trywait(&rings_) == 0) {
    }
  }
  // How many signals came since the last call.
  uint64_t TakeSignals() { return signals_.exchange(0, std::memory_order_relaxed); }

 private:
  sem_t rings_;
  std::atomic<uint64_t> signals_{0};
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FLIGHT_BELL_H_
