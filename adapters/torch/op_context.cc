// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/op_context.h"

#include <cstdlib>

#include "adapters/torch/thread_memory.h"

namespace ferret::torch_adapter {
namespace {

static_assert(sizeof(FreeBlock) <= sizeof(OpContext), "a free context holds the link");

// Deeper than operators nest. A thread that only ends what others began (collectives do so) stops collecting here.
constexpr uint32_t kMaxFree = 128;

}  // namespace

void* OpContext::operator new(size_t size) noexcept {
  ThreadMemory* const memory = OwnMemory();
  if (memory == nullptr || memory->free == nullptr) return std::malloc(size);
  FreeBlock* const block = memory->free;
  memory->free = block->next;
  --memory->free_count;
  return block;
}

void OpContext::operator delete(void* context) noexcept {
  ThreadMemory* const memory = OwnMemory();
  if (memory == nullptr || memory->free_count == kMaxFree) {
    std::free(context);
    return;
  }
  auto* const block = static_cast<FreeBlock*>(context);
  block->next = memory->free;
  memory->free = block;
  ++memory->free_count;
}

}  // namespace ferret::torch_adapter
