// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operation: what a modelled thread is about to do to something that threads share. Threads are interrupted before
// operations and nowhere else.

#ifndef FERRET_TESTS_EXPLORER_OPERATION_H_
#define FERRET_TESTS_EXPLORER_OPERATION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ferret::explorer {

enum class OperationKind : uint8_t {
  kLoad,
  kStore,
  kUpdate,   // read-modify-write; a compare-exchange that fails is a load
  kPush,     // onto a queue
  kPop,      // of up to `max` items
  kBarrier,  // waits for all other threads to arrive there or end
  kStart,
};

enum class UpdateKind : uint8_t { kExchange, kAdd, kSub, kAnd, kOr, kXor, kCompareExchange };

struct Operation {
  OperationKind kind = OperationKind::kStart;
  UpdateKind update = UpdateKind::kExchange;
  int place = -1;  // location or queue
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order order_of_failure = std::memory_order_relaxed;
  uint64_t operand = 0;
  uint64_t expected = 0;
  void** items = nullptr;
  size_t max = 0;

  bool IsOnLocation() const {
    return kind == OperationKind::kLoad || kind == OperationKind::kStore || kind == OperationKind::kUpdate;
  }
  bool IsOnQueue() const { return kind == OperationKind::kPush || kind == OperationKind::kPop; }
  bool IsSequential() const { return order == std::memory_order_seq_cst; }
};

// One way in which an operation may turn out. Loads and updates: the store that is read. Pops: how many items of each
// producer, eight bits each.
using Alternative = uint64_t;

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_OPERATION_H_
