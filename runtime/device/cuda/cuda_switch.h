// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CudaSwitch: whether recording threads are to mark streams, and in which session. Written by the session, read by all.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_CUDA_SWITCH_H_
#define FERRET_RUNTIME_DEVICE_CUDA_CUDA_SWITCH_H_

#include <atomic>
#include <cstdint>

#include "ferret/device_loss.h"
#include "runtime/device/cuda/rate_limit.h"
#include "runtime/threads/wake_signal.h"

namespace ferret::internal {

enum class CudaState : uint8_t {
  kOff,
  kUnused,    // on, but nobody has asked for it yet
  kStarting,  // somebody has: the device thread is being started, and loads the driver
  kReady,
};

struct CudaSwitch {
  static CudaSwitch& Global() {
    static CudaSwitch* const global = new CudaSwitch;  // read after static objects are gone
    return *global;
  }

  // Acquire by recording threads, release by the device thread when it sets kReady: the driver's table is complete.
  std::atomic<CudaState> state{CudaState::kOff};
  // Of each session another one, from 1. Acquire by recording threads, release by the session: its counts are ready. A late
  // reader marks for a session that has ended, and is found out at the scope's end.
  std::atomic<uint64_t> session{0};
  std::atomic<bool> forked{false};
  RateLimit rate;
  // What the device thread sleeps on.
  WakeSignal wake;

  DeviceLoss OffReason() const {
    return forked.load(std::memory_order_relaxed) ? DeviceLoss::kForked : DeviceLoss::kDisabled;
  }
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_CUDA_SWITCH_H_
