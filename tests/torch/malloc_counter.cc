// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/torch/malloc_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own names for what this file replaces.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace {

thread_local uint64_t t_mallocs = 0;
std::atomic<uint64_t> g_live{0};

void* Counted(void* block) {
  ++t_mallocs;
  if (block != nullptr) g_live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

extern "C" {

void* malloc(size_t size) { return Counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return Counted(__libc_calloc(count, size)); }
void* memalign(size_t alignment, size_t size) { return Counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** result, size_t alignment, size_t size) {
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

void* realloc(void* block, size_t size) {
  if (block == nullptr) return malloc(size);
  ++t_mallocs;
  return __libc_realloc(block, size);
}

void free(void* block) {
  if (block != nullptr) g_live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

}  // extern "C"

namespace ferret {

uint64_t MallocsOfThisThread() { return t_mallocs; }
uint64_t LiveBlocks() { return g_live.load(std::memory_order_relaxed); }

}  // namespace ferret
