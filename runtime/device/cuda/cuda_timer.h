// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CudaTimer: timing with pairs of CUDA events. What recording threads call is here, the rest in cuda_polling.cc.
//
//     off ──session starts──► wanted by nobody ──first scope──► starting ──device thread──► ready
//      ▲                                                           │
//      └── session stops, forked, no driver, a device thread that hangs
//
// One for the process, never destroyed: contexts and their events outlive sessions. A recording thread neither loads the
// driver nor creates anything in it; it asks the driver four things of a new stream, and after that one thing and two
// marks for each scope. It waits for nobody.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_
#define FERRET_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "ferret/device_loss.h"
#include "runtime/device/cuda/cuda_context.h"
#include "runtime/device/cuda/driver_table.h"
#include "runtime/device/cuda/rate_limit.h"
#include "runtime/device/cuda/stream_table.h"
#include "runtime/device/device_timer.h"

namespace ferret::internal {

class CudaTimer final : public DeviceTimer {
 public:
  static constexpr uint32_t kMostContexts = 64;

  // Tests make their own; the process has one.
  CudaTimer() = default;
  // Calls nothing of the driver: the events stay.
  ~CudaTimer() override;
  static CudaTimer& Global();

  // ---- Device thread: loads the driver, once it is there. False if it cannot be used: for ever, but for one that the
  // program has not initialised yet.
  bool Open(const std::string& library);
  DriverStatus status() const;
  // From here on the driver is not called by the device thread any more, but for a call that has begun.
  void StopCalls() { calls_stopped_.store(true); }
  void AfterForkInChild() { new (&mutex_) std::mutex; }

  // ---- Any thread that records.
  struct Begun {
    PairId pair = 0;
    uint32_t place = 0;
  };
  bool opened() const { return opened_.load(std::memory_order_acquire); }
  // Marks the stream, with a pair of its own. `thread` tells the threads' own default streams apart.
  std::optional<DeviceLoss> Begin(CuStream stream, uint32_t thread, Begun* begun);
  // The second mark. After a loss the pair is given up.
  std::optional<DeviceLoss> End(CuStream stream, PairId pair);
  // The scope is lost for another reason.
  void GiveUp(PairId pair) override;
  // Whether a scope on the stream would find a pair now; makes its context known.
  std::optional<DeviceLoss> Look(CuStream stream, uint32_t thread, bool* has_pairs);
  // Called when events run low: has the device thread look after it. Waits for nothing.
  void SetWaker(void (*wake)()) { wake_.store(wake, std::memory_order_release); }

  // ---- DeviceTimer.
  bool Maintain() override;
  uint32_t domains() const override { return context_count_.load(std::memory_order_acquire); }
  DeviceInfo Describe(uint32_t domain) override;
  int64_t ShownDomain(uint32_t domain) override;
  StreamInfo DescribeStream(uint32_t domain, uint32_t place) override;
  bool Lost(uint32_t domain) override { return context(domain).lost(); }
  bool Enter(uint32_t domain) override;
  void Leave(uint32_t domain) override;
  Passed Poll(uint32_t domain, MarkId mark) override;
  bool Elapsed(uint32_t domain, MarkId from, MarkId to, int64_t* ns, int64_t* step_ns) override;
  bool PutAnchor(uint32_t domain, MarkId* mark) override;
  void FreeAnchor(uint32_t domain, MarkId mark) override;
  void Return(PairId pair) override;

  // For tests and figures.
  CudaContext& context(uint32_t domain) const { return *contexts_[domain - 1].load(std::memory_order_acquire); }

 private:
  struct Found {
    CudaContext* context = nullptr;
    StreamTable::Value value;
    uint64_t key = 0;
  };
  std::optional<DeviceLoss> FindStream(CuStream stream, uint32_t thread, Found* found);
  std::optional<DeviceLoss> AskForStream(CuStream stream, Found* found);
  std::optional<DeviceLoss> CheckCapture(CuStream stream);
  CudaContext* ContextOf(const CudaContext::Identity& identity, uint32_t* domain);
  DeviceLoss OnRefused(int result, const Found& found);
  void WakeIfLow(const CudaContext& context);

  DriverTable driver_;  // complete before opened_ is set
  std::atomic<bool> opened_{false};
  std::atomic<bool> calls_stopped_{false};
  std::atomic<void (*)()> wake_{nullptr};
  StreamTable streams_;

  // Complete before the count is raised. Never removed.
  std::array<std::atomic<CudaContext*>, kMostContexts> contexts_{};
  std::atomic<uint32_t> context_count_{0};

  mutable std::mutex mutex_;  // guards adding a context, and status_; never held in a call of the driver
  DriverStatus status_;
  bool gave_up_ = false;  // device thread

  // Device thread, between Enter and Leave.
  bool entered_ = false;
  int outer_capture_mode_ = kCuCaptureModeRelaxed;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_
