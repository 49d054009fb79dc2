// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/op_context.h"

#include <cstdlib>

namespace ferret::torch_adapter {

static_assert(sizeof(FreeBlock) <= sizeof(OpContext), "a free context holds the link");

void* OpContext::NewBlock(size_t size) noexcept {
  OwnMemory();  // so that there is a list when the block is freed
  return std::malloc(size);
}

void OpContext::FreeElsewhere(void* block) noexcept {
  ThreadMemory* const memory = OwnMemory();
  if (memory == nullptr || memory->free_count == kMaxFree) {
    std::free(block);
  } else {
    Keep(*memory, block);
  }
}

}  // namespace ferret::torch_adapter
