// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the adapter keeps for each thread: the first level of the name cache, the free list of contexts, the texts of
// Python functions. On the heap, because the loader has room for only a few hundred bytes of fast thread-local memory
// in libraries that come late; the pointer to it is all the adapter takes of that.

#ifndef FERRET_ADAPTERS_TORCH_THREAD_MEMORY_H_
#define FERRET_ADAPTERS_TORCH_THREAD_MEMORY_H_

#include <cstdint>

namespace ferret::torch_adapter {

struct CachedName;
struct FrameText;

struct FreeBlock {
  FreeBlock* next;
};

inline constexpr uint32_t kThreadSlots = 512;
// Deeper than operators nest. A thread that only ends what others began (collectives do so) stops collecting here.
inline constexpr uint32_t kMaxFree = 128;

struct ThreadMemory {
  const CachedName* names[kThreadSlots];  // see name_cache.h
  FreeBlock* free;                        // see op_context.h
  uint32_t free_count;
  FrameText* frames;  // see stacks.cc; nullptr until a stack is recorded
};

// nullptr: not made yet. kNone: cannot be made, or the thread is nearly gone and it has been given back.
inline ThreadMemory* const kNone = reinterpret_cast<ThreadMemory*>(1);
// __thread and not thread_local: another file that uses it need not ask whether it has a constructor.
extern __thread ThreadMemory* t_memory __attribute__((tls_model("initial-exec")));

// Makes it and has it freed when the thread ends.
ThreadMemory* MakeThreadMemory();

// Whether that is one: neither nullptr nor kNone, in one comparison.
inline bool IsThere(const ThreadMemory* memory) {
  return __builtin_expect(reinterpret_cast<uintptr_t>(memory) > reinterpret_cast<uintptr_t>(kNone), 1);
}

// nullptr where there is none: callers then do without. The calling thread's own.
inline ThreadMemory* OwnMemory() {
  ThreadMemory* const memory = t_memory;
  if (__builtin_expect(memory == nullptr, 0)) return MakeThreadMemory();
  return memory == kNone ? nullptr : memory;
}

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_THREAD_MEMORY_H_
