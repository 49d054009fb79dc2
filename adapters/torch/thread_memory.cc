// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/thread_memory.h"

#include <pthread.h>

#include <cstdlib>

namespace ferret::torch_adapter {
namespace {

// Runs at the end of the thread, after its thread-local objects. Whatever comes later finds kNone.
void Release(void* own) {
  auto* const memory = static_cast<ThreadMemory*>(own);
  t_memory = kNone;
  while (FreeBlock* const block = memory->free) {
    memory->free = block->next;
    std::free(block);
  }
  std::free(memory->frames);
  std::free(memory);
}

}  // namespace

__thread ThreadMemory* t_memory = nullptr;

ThreadMemory* MakeThreadMemory() {
  static pthread_key_t key;
  static const bool has_key = pthread_key_create(&key, &Release) == 0;
  t_memory = kNone;
  if (!has_key) return nullptr;
  auto* const memory = static_cast<ThreadMemory*>(std::calloc(1, sizeof(ThreadMemory)));
  if (memory == nullptr) return nullptr;
  if (pthread_setspecific(key, memory) != 0) {
    std::free(memory);
    return nullptr;
  }
  t_memory = memory;
  return memory;
}

}  // namespace ferret::torch_adapter
