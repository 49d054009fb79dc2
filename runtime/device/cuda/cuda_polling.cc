// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The device thread's part of CudaTimer.

#include <cmath>
#include <limits>
#include <utility>

#include "runtime/device/cuda/cuda_timer.h"

namespace ferret::internal {

bool CudaTimer::Open(const std::string& library) {
  if (opened()) return true;
  if (gave_up_) return false;
  DriverStatus status = LoadDriver(library, &driver_);
  const bool good = status.outcome == DriverOutcome::kGood;
  gave_up_ = !good && status.outcome != DriverOutcome::kNotInitialized;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    status_ = std::move(status);
  }
  // Release, acquired by recording threads: the table is complete.
  if (good) opened_.store(true, std::memory_order_release);
  return good;
}

DriverStatus CudaTimer::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

bool CudaTimer::Maintain() {
  bool worked = false;
  for (uint32_t domain = 1; domain <= domains(); ++domain) {
    if (!context(domain).NeedsWork()) continue;
    DomainGuard guard(this, domain);
    if (guard.usable()) worked |= context(domain).Maintain();
  }
  return worked;
}

DeviceInfo CudaTimer::Describe(uint32_t domain) {
  const CuDevice device = context(domain).identity().device;
  DeviceInfo info;
  info.index = static_cast<int16_t>(device);
  char name[256] = "";
  if (driver_.device_get_name != nullptr && driver_.device_get_name(name, sizeof(name), device) == kCuSuccess) {
    name[sizeof(name) - 1] = '\0';
    info.name = name;
  }
  size_t bytes = 0;
  if (driver_.device_total_mem != nullptr && driver_.device_total_mem(&bytes, device) == kCuSuccess) {
    info.memory_bytes = bytes;
  }
  const auto attribute = [&](int which) {
    int value = 0;
    if (driver_.device_get_attribute == nullptr) return 0;
    return driver_.device_get_attribute(&value, which, device) == kCuSuccess ? value : 0;
  };
  info.compute_major = attribute(kCuAttributeComputeMajor);
  info.compute_minor = attribute(kCuAttributeComputeMinor);
  info.multiprocessors = attribute(kCuAttributeMultiprocessors);
  info.warp_size = attribute(kCuAttributeWarpSize);
  return info;
}

int64_t CudaTimer::ShownDomain(uint32_t domain) {
  const uint64_t id = context(domain).identity().id;
  return id != 0 && id <= static_cast<uint64_t>(INT32_MAX) ? static_cast<int64_t>(id) : domain;
}

StreamInfo CudaTimer::DescribeStream(uint32_t domain, uint32_t place) { return context(domain).Stream(place); }

// Relaxed: else a capture that another thread has under way would forbid the calls, and the calls could spoil it.
bool CudaTimer::Enter(uint32_t domain) {
  CudaContext& own = context(domain);
  entered_ = false;
  if (own.lost() || calls_stopped_.load()) return false;
  const int result = driver_.ctx_push_current(own.identity().handle);
  if (result != kCuSuccess) {
    // The context is gone; its handle may be another one's by now.
    own.Lose();
    return false;
  }
  unsigned long long id = 0;
  if (own.identity().id != 0 && driver_.ctx_get_id(own.identity().handle, &id) == kCuSuccess &&
      id != own.identity().id) {
    CuContext popped = nullptr;
    driver_.ctx_pop_current(&popped);
    own.Lose();
    return false;
  }
  outer_capture_mode_ = kCuCaptureModeRelaxed;
  if (driver_.thread_exchange_capture_mode(&outer_capture_mode_) != kCuSuccess) {
    // Rather no times than a capture of the program's that is spoilt.
    CuContext popped = nullptr;
    driver_.ctx_pop_current(&popped);
    own.Lose();
    return false;
  }
  entered_ = true;
  return true;
}

void CudaTimer::Leave(uint32_t) {
  if (!entered_ || calls_stopped_.load()) return;
  entered_ = false;
  driver_.thread_exchange_capture_mode(&outer_capture_mode_);
  CuContext popped = nullptr;
  driver_.ctx_pop_current(&popped);
}

DeviceTimer::Passed CudaTimer::Poll(uint32_t domain, MarkId mark) {
  if (calls_stopped_.load()) return Passed::kNotYet;
  CudaContext& own = context(domain);
  const int result = driver_.event_query(own.event(mark));
  if (result == kCuSuccess) return Passed::kYes;
  if (result == kCuNotReady) return Passed::kNotYet;
  if (!IsTerminal(result)) return Passed::kNever;
  own.Lose();
  return Passed::kLost;
}

bool CudaTimer::Elapsed(uint32_t domain, MarkId from, MarkId to, int64_t* ns, int64_t* step_ns) {
  if (calls_stopped_.load()) return false;
  CudaContext& own = context(domain);
  float ms = 0;
  const int result = driver_.event_elapsed_time(&ms, own.event(from), own.event(to));
  if (IsTerminal(result)) own.Lose();
  if (result != kCuSuccess || !std::isfinite(ms) || std::abs(ms) > 1e12f) return false;
  // Widened first: the product would be rounded to 24 bits once more.
  *ns = std::llround(static_cast<double>(ms) * 1e6);
  const float magnitude = std::abs(ms);
  const float next = std::nextafter(magnitude, std::numeric_limits<float>::infinity());
  *step_ns = static_cast<int64_t>(std::ceil((static_cast<double>(next) - static_cast<double>(magnitude)) * 1e6));
  return true;
}

bool CudaTimer::PutAnchor(uint32_t domain, MarkId* mark) { return context(domain).PutAnchor(mark); }
void CudaTimer::FreeAnchor(uint32_t domain, MarkId mark) { context(domain).FreeAnchor(mark); }
void CudaTimer::Return(PairId pair) { context(DomainOf(pair)).Return(IndexOf(pair)); }

}  // namespace ferret::internal
