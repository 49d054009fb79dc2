// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OpContext: what the callback at the begin of an operator leaves for the one at its end. PyTorch wants it on the heap,
// one for every operator, and deletes it on whichever thread ends the operator. So the class keeps a free list per
// thread: an operator costs no malloc once its thread has nested operators that deep before.

#ifndef FERRET_ADAPTERS_TORCH_OP_CONTEXT_H_
#define FERRET_ADAPTERS_TORCH_OP_CONTEXT_H_

#include <cstddef>
#include <cstdint>

#include "adapters/torch/thread_memory.h"
#include "adapters/torch/torch_api.h"
#include "ferret/cuda.h"
#include "ferret/internal/hot_path.h"

namespace ferret::torch_adapter {

struct OpContext final : at::ObserverContext {
  // Leaves to BeginContext what that always writes.
  OpContext() {}
  // noexcept: out of memory makes the new-expression nullptr, it throws nothing into PyTorch.
  static void* operator new(size_t size) noexcept;
  static void operator delete(void* context) noexcept;

  internal::ScopeEnd end;
  uint32_t thread;  // Ferret's id of the thread that began the scope
  bool is_async;
  // Of OnBeginWithMarks for OnEndWithMarks; without them not even written.
  union {
    internal::DeviceMark mark;
  };

 private:
  // What operator new and delete do where the thread's list does not serve.
  __attribute__((cold, noinline)) static void* NewBlock(size_t size) noexcept;
  __attribute__((cold, noinline)) static void FreeElsewhere(void* block) noexcept;
  static void Keep(ThreadMemory& memory, void* block) noexcept;
};

inline void* OpContext::operator new(size_t size) noexcept {
  ThreadMemory* const memory = t_memory;
  if (!IsThere(memory) || FERRET_UNLIKELY(memory->free == nullptr)) return NewBlock(size);
  FreeBlock* const block = memory->free;
  memory->free = block->next;
  --memory->free_count;
  return block;
}

inline void OpContext::operator delete(void* context) noexcept {
  ThreadMemory* const memory = t_memory;
  if (!IsThere(memory) || FERRET_UNLIKELY(memory->free_count == kMaxFree)) return FreeElsewhere(context);
  Keep(*memory, context);
}

inline void OpContext::Keep(ThreadMemory& memory, void* block) noexcept {
  auto* const free = static_cast<FreeBlock*>(block);
  free->next = memory.free;
  memory.free = free;
  ++memory.free_count;
}

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_OP_CONTEXT_H_
