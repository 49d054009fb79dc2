// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Virtual and real time.
#include "tests/device/fake_cuda/clock.h"

#include <time.h>

#include <algorithm>

namespace fake_cuda {
namespace {

int64_t MonotonicNs(void*) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t Clock::NowNs() const {
  const Source* const source = source_.load(std::memory_order_acquire);
  return source != nullptr ? source->now_ns(source->user) : virtual_ns_.load(std::memory_order_acquire);
}

void Clock::AdvanceNs(int64_t ns) {
  if (ns != 0 && source_.load(std::memory_order_acquire) == nullptr) {
    virtual_ns_.fetch_add(ns, std::memory_order_acq_rel);
  }
}

void Clock::WaitUntilNs(int64_t ns) {
  const Source* const source = source_.load(std::memory_order_acquire);
  if (source == nullptr) {
    int64_t now = virtual_ns_.load(std::memory_order_acquire);
    while (now < ns && !virtual_ns_.compare_exchange_weak(now, ns, std::memory_order_acq_rel)) {
    }
    return;
  }
  // In slices: the function's time need not pass as the kernel's does.
  constexpr int64_t kSliceNs = 1'000'000;
  for (int64_t now = source->now_ns(source->user); now < ns; now = source->now_ns(source->user)) {
    const timespec slice = {0, static_cast<long>(std::min(ns - now, kSliceNs))};
    nanosleep(&slice, nullptr);
  }
}

void Clock::UseVirtual(int64_t now_ns) {
  virtual_ns_.store(now_ns, std::memory_order_release);
  source_.store(nullptr, std::memory_order_release);
}

void Clock::UseFunction(int64_t (*now_ns)(void* user), void* user) {
  std::lock_guard<std::mutex> lock(mutex_);
  sources_.push_back(std::make_unique<const Source>(Source{now_ns, user}));
  source_.store(sources_.back().get(), std::memory_order_release);
}

void Clock::UseMonotonic() { UseFunction(&MonotonicNs, nullptr); }

}  // namespace fake_cuda
