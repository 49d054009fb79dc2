// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/memory_meter.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace ferret::fuzz {
namespace {

std::atomic<int64_t> held{0};
std::atomic<int64_t> most{0};
int64_t before = 0;
int64_t bound = INT64_MAX;
void (*on_too_much)() = nullptr;

void* Allocate(size_t size, size_t alignment) noexcept {
  const int64_t limit = bound;
  // Before it is allocated: what is asked for may be more than there is.
  if (size > static_cast<uint64_t>(limit) || held.load(std::memory_order_relaxed) - before > limit - static_cast<int64_t>(size)) {
    bound = INT64_MAX;
    on_too_much();
  }
  void* const place = alignment <= alignof(std::max_align_t)
                          ? std::malloc(std::max<size_t>(size, 1))
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (place == nullptr) return nullptr;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(place));
  const int64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > most.load(std::memory_order_relaxed)) most.store(now, std::memory_order_relaxed);
  return place;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const place = Allocate(size, alignment);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

void Free(void* place) noexcept {
  if (place == nullptr) return;
  held.fetch_sub(static_cast<int64_t>(malloc_usable_size(place)), std::memory_order_relaxed);
  std::free(place);
}

}  // namespace

void MemoryMeter::Begin(uint64_t most_bytes, void (*too_much)()) {
  before = held.load(std::memory_order_relaxed);
  most.store(before, std::memory_order_relaxed);
  on_too_much = too_much;
  bound = static_cast<int64_t>(std::min<uint64_t>(most_bytes, INT64_MAX));
}

void MemoryMeter::End() { bound = INT64_MAX; }

int64_t MemoryMeter::Most() { return most.load(std::memory_order_relaxed) - before; }
int64_t MemoryMeter::Left() { return held.load(std::memory_order_relaxed) - before; }

}  // namespace ferret::fuzz

using ferret::fuzz::AllocateOrThrow;
using ferret::fuzz::Allocate;
using ferret::fuzz::Free;

void* operator new(size_t size) { return AllocateOrThrow(size, 0); }
void* operator new[](size_t size) { return AllocateOrThrow(size, 0); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 0); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) { return AllocateOrThrow(size, size_t(alignment)); }
void* operator new[](size_t size, std::align_val_t alignment) { return AllocateOrThrow(size, size_t(alignment)); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, size_t(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, size_t(alignment));
}
void operator delete(void* place) noexcept { Free(place); }
void operator delete[](void* place) noexcept { Free(place); }
void operator delete(void* place, size_t) noexcept { Free(place); }
void operator delete[](void* place, size_t) noexcept { Free(place); }
void operator delete(void* place, const std::nothrow_t&) noexcept { Free(place); }
void operator delete[](void* place, const std::nothrow_t&) noexcept { Free(place); }
void operator delete(void* place, std::align_val_t) noexcept { Free(place); }
void operator delete[](void* place, std::align_val_t) noexcept { Free(place); }
void operator delete(void* place, std::align_val_t, const std::nothrow_t&) noexcept { Free(place); }
void operator delete[](void* place, std::align_val_t, const std::nothrow_t&) noexcept { Free(place); }
void operator delete(void* place, size_t, std::align_val_t) noexcept { Free(place); }
void operator delete[](void* place, size_t, std::align_val_t) noexcept { Free(place); }
