// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceThread: the thread of a session that asks devices, and the only one that waits for a driver.
//
//     drain thread ──Submit──► [inbox] ─► PairTracker ─► [output] ──Take──► drain thread
//
// A driver call that hangs keeps this thread and nothing else: neither a recording thread nor the drain nor an exporter
// ever waits for it, and Stop goes on without it after its deadline. Sleeps until it is woken, or 1 to 10 ms while there
// are pairs: longer the less moves, since each look takes a lock in the driver that launches want, too.
//
// Blocks all signals; is never recorded itself.

#ifndef FERRET_RUNTIME_DEVICE_DEVICE_THREAD_H_
#define FERRET_RUNTIME_DEVICE_DEVICE_THREAD_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/device/device_port.h"
#include "runtime/device/pair_tracker.h"
#include "runtime/threads/wake_signal.h"

namespace ferret::internal {

class DeviceThread {
 public:
  struct Config {
    PairTracker::Config tracker;
    std::function<int64_t()> now;  // the session's ns
    // Called once, on the thread: makes the driver ready. Null if that is not possible, and there is nothing to do.
    std::function<DeviceTimer*()> open;
    std::function<void()> on_thread_start;
    // What the thread sleeps on. It outlives everything: recording threads may wake it at any time.
    WakeSignal* wake = nullptr;
  };

  explicit DeviceThread(Config config);
  ~DeviceThread();

  // False when the system gives no thread.
  bool Start();

  // Drain thread. Empties the vector. False if the thread has done its last work: the pairs are the caller's to give up.
  bool Submit(std::vector<SubmittedPair>* pairs);
  // Everything that came to be known since the last call.
  DeviceOutput Take();

  using TimePoint = std::chrono::steady_clock::time_point;
  // Waits until all that was submitted before has a result. False at the deadline.
  bool Settle(TimePoint deadline);
  // Gives up what has no result yet and ends the thread. False at the deadline: the thread hangs in a call, and this
  // object must be leaked.
  bool Stop(TimePoint deadline);
  // No call of the driver begins after this returns; it waits for one that is on its way, but not for long. For the end of
  // the process, when the driver may be on its way out. The pairs that are left are given up.
  void Halt();

  // Whether the thread has done its last work.
  bool finished() const;

  PairTracker::Counts counts() const;

 private:
  void Run();
  // Whether the driver may be called now. Pairs with EndCalls.
  bool BeginCalls();
  void EndCalls();
  void Work(PairTracker* tracker, DeviceTimer* timer);
  void Publish(DeviceOutput output, const PairTracker& tracker, bool last);

  const Config config_;
  std::thread thread_;
  // Sequentially consistent, the two together: either the thread sees that it is halted, or Halt sees that it calls.
  std::atomic<bool> halted_{false};
  std::atomic<bool> in_calls_{false};

  mutable std::mutex mutex_;  // guards what follows; never held in a call of the driver
  std::condition_variable changed_;
  std::vector<SubmittedPair> inbox_;
  DeviceOutput output_;
  PairTracker::Counts counts_;
  uint64_t settle_wanted_ = 0;  // calls of Settle that want an anchor
  uint64_t submitted_ = 0;
  uint64_t resolved_ = 0;
  bool stop_ = false;
  bool closed_ = false;    // nothing is taken into the inbox any more
  bool finished_ = false;  // and nothing of the timer is used any more
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_THREAD_H_
