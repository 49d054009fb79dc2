// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler calls for each access to memory when it is asked to watch for races (-fsanitize=thread): here it
// leads into the explorer. So the code under test is the real one, compiled a second time, with nothing in it for the
// explorer's sake. The names and types are the compilers' (GCC and Clang agree).

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/explorer/direct_operation.h"
#include "tests/explorer/execution.h"

namespace ferret::explorer {
namespace {

uint64_t Atomic(const volatile void* address, int bytes, const Operation& operation) {
  Execution::NoteAddress(address);
  if (Execution::CurrentThread() == 0) return PerformDirectly(address, bytes, operation);
  return Execution::Current()->PerformAt(address, bytes, operation);
}

std::memory_order Order(int order) { return static_cast<std::memory_order>(order & 0xf); }

uint64_t AtomicLoad(const volatile void* address, int bytes, int order) {
  Operation operation;
  operation.kind = OperationKind::kLoad;
  operation.order = Order(order);
  return Atomic(address, bytes, operation);
}

void AtomicStore(const volatile void* address, int bytes, uint64_t value, int order) {
  Operation operation;
  operation.kind = OperationKind::kStore;
  operation.order = Order(order);
  operation.operand = value;
  Atomic(address, bytes, operation);
}

uint64_t AtomicUpdate(const volatile void* address, int bytes, UpdateKind kind, uint64_t value, int order) {
  Operation operation;
  operation.kind = OperationKind::kUpdate;
  operation.update = kind;
  operation.order = Order(order);
  operation.operand = value;
  return Atomic(address, bytes, operation);
}

uint64_t AtomicCompareExchange(const volatile void* address, int bytes, uint64_t expected, uint64_t value, int order,
                               int order_of_failure) {
  Operation operation;
  operation.kind = OperationKind::kUpdate;
  operation.update = UpdateKind::kCompareExchange;
  operation.order = Order(order);
  operation.order_of_failure = Order(order_of_failure);
  operation.expected = expected;
  operation.operand = value;
  return Atomic(address, bytes, operation);
}

void Plain(const void* address, size_t bytes, bool write) {
  if (Execution::CurrentThread() != 0) Execution::Current()->AccessBytes(address, bytes, write);
}

}  // namespace
}  // namespace ferret::explorer

extern "C" {

#define FERRET_PLAIN(bytes)                                                                                  \
  void __tsan_read##bytes(void* at) { ferret::explorer::Plain(at, bytes, false); }                           \
  void __tsan_write##bytes(void* at) { ferret::explorer::Plain(at, bytes, true); }                           \
  void __tsan_volatile_read##bytes(void* at) { ferret::explorer::Plain(at, bytes, false); }                  \
  void __tsan_volatile_write##bytes(void* at) { ferret::explorer::Plain(at, bytes, true); }                  \
  void __tsan_unaligned_read##bytes(void* at) { ferret::explorer::Plain(at, bytes, false); }                 \
  void __tsan_unaligned_write##bytes(void* at) { ferret::explorer::Plain(at, bytes, true); }

FERRET_PLAIN(1)
FERRET_PLAIN(2)
FERRET_PLAIN(4)
FERRET_PLAIN(8)
FERRET_PLAIN(16)

void __tsan_read_range(void* at, size_t bytes) { ferret::explorer::Plain(at, bytes, false); }
void __tsan_write_range(void* at, size_t bytes) { ferret::explorer::Plain(at, bytes, true); }

void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  ferret::explorer::Plain(from, bytes, false);
  ferret::explorer::Plain(to, bytes, true);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memset(void* at, int value, size_t bytes) {
  ferret::explorer::Plain(at, bytes, true);
  return std::memset(at, value, bytes);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define FERRET_UPDATE(bits, name, kind)                                                                       \
  uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* at, uint##bits##_t value, int order) { \
    return static_cast<uint##bits##_t>(                                                                       \
        ferret::explorer::AtomicUpdate(at, bits / 8, ferret::explorer::UpdateKind::kind, value, order));            \
  }

#define FERRET_ATOMIC(bits)                                                                                   \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* at, int order) {                   \
    return static_cast<uint##bits##_t>(ferret::explorer::AtomicLoad(at, bits / 8, order));                          \
  }                                                                                                           \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* at, uint##bits##_t value, int order) {            \
    ferret::explorer::AtomicStore(at, bits / 8, value, order);                                                      \
  }                                                                                                           \
  FERRET_UPDATE(bits, exchange, kExchange)                                                                    \
  FERRET_UPDATE(bits, fetch_add, kAdd)                                                                        \
  FERRET_UPDATE(bits, fetch_sub, kSub)                                                                        \
  FERRET_UPDATE(bits, fetch_and, kAnd)                                                                        \
  FERRET_UPDATE(bits, fetch_or, kOr)                                                                          \
  FERRET_UPDATE(bits, fetch_xor, kXor)                                                                        \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* at, uint##bits##_t* expected,    \
                                                    uint##bits##_t value, int order, int failure) {           \
    const uint##bits##_t old = static_cast<uint##bits##_t>(                                                   \
        ferret::explorer::AtomicCompareExchange(at, bits / 8, *expected, value, order, failure));                   \
    if (old == *expected) return 1;                                                                           \
    *expected = old;                                                                                          \
    return 0;                                                                                                 \
  }                                                                                                           \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* at, uint##bits##_t* expected,      \
                                                  uint##bits##_t value, int order, int failure) {             \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, failure);                \
  }                                                                                                           \
  uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t* at,                      \
                                                            uint##bits##_t expected, uint##bits##_t value,    \
                                                            int order, int failure) {                         \
    return static_cast<uint##bits##_t>(                                                                       \
        ferret::explorer::AtomicCompareExchange(at, bits / 8, expected, value, order, failure));                    \
  }

FERRET_ATOMIC(8)
FERRET_ATOMIC(16)
FERRET_ATOMIC(32)
FERRET_ATOMIC(64)

// The order of a thread with its own signal handlers, which are not modelled.
void __tsan_atomic_signal_fence(int) {}
void __tsan_atomic_thread_fence(int) {
  if (ferret::explorer::Execution::CurrentThread() == 0) return;
  std::fprintf(stderr, "explorer: fences are not modelled\n");
  std::abort();
}

}  // extern "C"
