// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceCounter: how many scopes asked for device time and what became of them, since the process started.
//
// Any thread counts, without a lock; threads are spread over stripes so that they seldom write the same cache line.
// A sum is exact once those who count have stopped. Before that, what it says of outcomes is no more than what it says
// was asked: an outcome is counted after its question (release), and looked at before it (acquire).

#ifndef FERRET_RUNTIME_DEVICE_DEVICE_COUNTER_H_
#define FERRET_RUNTIME_DEVICE_DEVICE_COUNTER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ferret/device_loss.h"
#include "ferret/internal/hot_path.h"

namespace ferret::internal {

class DeviceCounter {
 public:
  static DeviceCounter& Global() {
    static DeviceCounter* const counter = new DeviceCounter;  // scopes end after static objects are gone
    return *counter;
  }

  void Asked() { Here().asked.fetch_add(1, std::memory_order_relaxed); }
  void Timed() { Here().timed.fetch_add(1, std::memory_order_release); }
  void Lost(DeviceLoss reason) {
    Here().lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_release);
  }

  DeviceCounts Sum() const {
    DeviceCounts sum;
    for (const Stripe& stripe : stripes_) {
      sum.timed += stripe.timed.load(std::memory_order_acquire);
      for (size_t i = 0; i < kDeviceLossCount; ++i) sum.lost[i] += stripe.lost[i].load(std::memory_order_acquire);
    }
    for (const Stripe& stripe : stripes_) sum.asked += stripe.asked.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Stripe {
    std::atomic<uint64_t> asked{0};
    std::atomic<uint64_t> timed{0};
    std::array<std::atomic<uint64_t>, kDeviceLossCount> lost{};
  };
  static constexpr size_t kStripes = 16;

  Stripe& Here() { return stripes_[t_writer->thread % kStripes]; }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_COUNTER_H_
