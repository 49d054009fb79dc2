// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceCounter: how many scopes of a session asked for device time, and how many of them the recording thread itself had
// to refuse. What becomes of the others the drain counts (DeviceLinker): of each scope whose first mark was recorded.
//
// Any thread counts, without a lock; threads are spread over stripes so that they seldom write the same cache line. A sum
// is exact once those who count have stopped. Before that, what it says was refused is no more than what it says was
// asked: a refusal is counted after its question (release), and looked at before it (acquire).

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
  // A thread that is late counts for the session in which it asked, also when that is over. Of so many sessions back.
  static constexpr size_t kSessions = 64;
  static DeviceCounter& OfSession(uint64_t session) {
    static auto* const counters = new std::array<DeviceCounter, kSessions>;  // used after static objects are gone
    return (*counters)[session % kSessions];
  }

  void Reset() {
    for (Stripe& stripe : stripes_) {
      stripe.asked.store(0, std::memory_order_relaxed);
      for (auto& count : stripe.lost) count.store(0, std::memory_order_relaxed);
    }
  }
  void Asked() { Here().asked.fetch_add(1, std::memory_order_relaxed); }
  void Lost(DeviceLoss reason) {
    Here().lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_release);
  }

  DeviceCounts Sum() const {
    DeviceCounts sum;
    for (const Stripe& stripe : stripes_) {
      for (size_t i = 0; i < kDeviceLossCount; ++i) sum.lost[i] += stripe.lost[i].load(std::memory_order_acquire);
    }
    for (const Stripe& stripe : stripes_) sum.asked += stripe.asked.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Stripe {
    std::atomic<uint64_t> asked{0};
    std::array<std::atomic<uint64_t>, kDeviceLossCount> lost{};
  };
  static constexpr size_t kStripes = 16;

  Stripe& Here() { return stripes_[t_writer->thread % kStripes]; }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_COUNTER_H_
