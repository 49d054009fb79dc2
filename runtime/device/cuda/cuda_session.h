// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CudaSession: CUDA timing for as long as a session lasts.
//
// Its thread is started by the first scope that asks for device time: a program without any has none. One session has it
// at a time.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_CUDA_SESSION_H_
#define FERRET_RUNTIME_DEVICE_CUDA_CUDA_SESSION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/cuda/driver_table.h"
#include "runtime/device/device_port.h"
#include "runtime/device/device_thread.h"

namespace ferret::internal {

class CudaSession final : public DevicePort {
 public:
  struct Config {
    PairTracker::Config tracker;
    std::string library;             // empty: kDriverLibrary
    uint64_t scopes_per_second = 0;  // 0: no limit
    double ns_per_tick = 1.0;        // of the clock that records are stamped with
    std::function<int64_t()> now;    // the session's ns
    std::function<void()> on_thread_start;
    // Called once, on the device thread, with how looking for the driver went.
    std::function<void(const DriverStatus&)> on_driver;
  };

  // For each session, before it records, also where nothing is timed: what is counted is this one's from here on.
  static uint64_t NewSession();
  // Recording threads may ask for device time from here on.
  explicit CudaSession(Config config);
  ~CudaSession() override;

  // DevicePort: the drain's thread.
  void Pump() override;
  void Submit(std::vector<SubmittedPair>* pairs) override;
  DeviceOutput Take() override;

  using TimePoint = DeviceThread::TimePoint;
  // Whether any scope has asked for device time.
  bool started() const { return thread() != nullptr; }
  // Recording threads mark nothing from here on.
  void TurnOff();
  // Waits until all that was submitted has a result. False at the deadline.
  bool Settle(TimePoint deadline);
  // Ends the thread; what is left has a result then. False at the deadline: the thread hangs in the driver, this object
  // must be leaked, and there is no CUDA timing in this process until the thread has come back.
  bool Stop(TimePoint deadline);

  PairTracker::Counts counts() const;

  // In a forked child: nothing of CUDA works there.
  static void PrepareForFork();
  static void AfterForkInChild();
  // What became of looking for the driver, in one line; empty if nobody has asked yet.
  static std::string StatusText();

 private:
  DeviceTimer* Open();

  DeviceThread* thread() const { return thread_.load(std::memory_order_acquire); }

  const Config config_;
  // Written by the drain's thread when the thread has started; acquired by all others.
  std::atomic<DeviceThread*> thread_{nullptr};
  // The drain's thread: all that were started, the last one being the current.
  std::vector<std::unique_ptr<DeviceThread>> threads_;
  int64_t next_start_ns_ = 0;
  std::mutex start_mutex_;  // a thread is started or it is turned off, one after the other
  bool turned_off_ = false;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_CUDA_SESSION_H_
