// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations carried out on memory, for what the explorer does not model.

#ifndef FERRET_TESTS_EXPLORER_DIRECT_OPERATION_H_
#define FERRET_TESTS_EXPLORER_DIRECT_OPERATION_H_

#include <cstdint>
#include <cstdlib>

#include "tests/explorer/operation.h"

namespace ferret::explorer {

// What an update leaves behind.
inline uint64_t Updated(const Operation& operation, uint64_t old, int bytes) {
  uint64_t value = operation.operand;
  switch (operation.update) {
    case UpdateKind::kExchange:
    case UpdateKind::kCompareExchange: break;
    case UpdateKind::kAdd: value = old + value; break;
    case UpdateKind::kSub: value = old - value; break;
    case UpdateKind::kAnd: value = old & value; break;
    case UpdateKind::kOr: value = old | value; break;
    case UpdateKind::kXor: value = old ^ value; break;
  }
  return bytes == 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

template <typename T>
uint64_t PerformDirectlyAs(volatile T* at, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kLoad: return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    case OperationKind::kStore: __atomic_store_n(at, static_cast<T>(operation.operand), __ATOMIC_SEQ_CST); return 0;
    case OperationKind::kUpdate: break;
    default: std::abort();
  }
  T old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  for (;;) {
    if (operation.update == UpdateKind::kCompareExchange && old != static_cast<T>(operation.expected)) return old;
    const T value = static_cast<T>(Updated(operation, old, sizeof(T)));
    if (__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

// Returns what was loaded.
inline uint64_t PerformDirectly(const volatile void* address, int bytes, const Operation& operation) {
  volatile void* const at = const_cast<volatile void*>(address);
  switch (bytes) {
    case 1: return PerformDirectlyAs(static_cast<volatile uint8_t*>(at), operation);
    case 2: return PerformDirectlyAs(static_cast<volatile uint16_t*>(at), operation);
    case 4: return PerformDirectlyAs(static_cast<volatile uint32_t*>(at), operation);
    case 8: return PerformDirectlyAs(static_cast<volatile uint64_t*>(at), operation);
    default: std::abort();
  }
}

inline void StoreDirectly(const volatile void* address, int bytes, uint64_t value) {
  Operation store;
  store.kind = OperationKind::kStore;
  store.operand = value;
  PerformDirectly(address, bytes, store);
}

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_DIRECT_OPERATION_H_
