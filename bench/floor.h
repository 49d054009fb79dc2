// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The floor that a scope is held against: two readings of the cycle counter and one 32-byte store.

#ifndef FERRET_BENCH_FLOOR_H_
#define FERRET_BENCH_FLOOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ferret/internal/hot_path.h"

namespace ferret {

struct FloorEvent {
  uint64_t name;
  uint64_t begin;
  uint64_t parent;
  uint64_t end;
};
static_assert(sizeof(FloorEvent) == 32, "what the floor stores");

// Memory that is there already, and where the next event goes.
class Floor {
 public:
  explicit Floor(size_t events) : memory_(events) {
    std::memset(static_cast<void*>(memory_.data()), 1, events * sizeof(FloorEvent));
  }

  // There is room for it.
  void Record() {
    const uint64_t begin = internal::ReadCycleCounter();
    memory_[next_] = {1, begin, 0, internal::ReadCycleCounter()};
    ++next_;
    asm volatile("" : : "r"(memory_.data()) : "memory");  // stored, although nobody reads it
  }
  bool HasRoom(size_t events) const { return next_ + events <= memory_.size(); }
  void StartOver() { next_ = 0; }

 private:
  std::vector<FloorEvent> memory_;
  size_t next_ = 0;
};

}  // namespace ferret

#endif  // FERRET_BENCH_FLOOR_H_
