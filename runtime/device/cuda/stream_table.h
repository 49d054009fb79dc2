// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StreamTable: which context a stream belongs to, and its place there, without asking the driver each time.
//
//     slot: [ key, 0: free | domain << 16 | place ]     open addressing, entries are never removed
//
// Handles are used again by the driver for later streams. An entry that turns out to be wrong (the driver refuses a mark)
// is replaced; one whose stream got a successor in the same context gives that its number. Streams beyond the table's size
// are asked for each time. Any thread, no locks.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_STREAM_TABLE_H_
#define FERRET_RUNTIME_DEVICE_CUDA_STREAM_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ferret::internal {

class StreamTable {
 public:
  static constexpr size_t kSlots = 4096;

  struct Value {
    uint32_t domain = 0;  // 0: not known
    uint32_t place = 0;
  };

  Value Find(uint64_t key) const {
    for (size_t i = 0; i < kMostProbes; ++i) {
      const Slot& slot = slots_[(Hash(key) + i) % kSlots];
      const uint64_t found = slot.key.load(std::memory_order_acquire);
      if (found == 0) return {};
      if (found == key) {
        // Acquire, released by Put: the context that it names is complete. 0 while the one who took the slot fills it.
        const uint32_t value = slot.value.load(std::memory_order_acquire);
        return {value >> 16, value & 0xffff};
      }
    }
    return {};
  }

  // `value` of domain 0 forgets.
  void Put(uint64_t key, Value value) {
    for (size_t i = 0; i < kMostProbes; ++i) {
      Slot& slot = slots_[(Hash(key) + i) % kSlots];
      uint64_t expected = 0;
      if (slot.key.compare_exchange_strong(expected, key, std::memory_order_acq_rel) || expected == key) {
        slot.value.store(value.domain << 16 | value.place, std::memory_order_release);
        return;
      }
    }
  }

 private:
  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<uint32_t> value{0};
  };
  static constexpr size_t kMostProbes = 16;
  static size_t Hash(uint64_t key) { return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> 40); }

  std::array<Slot, kSlots> slots_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_STREAM_TABLE_H_
