// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/op_context.h"

#include <pthread.h>

#include <cstdlib>

namespace ferret::torch_adapter {
namespace {

struct FreeBlock {
  FreeBlock* next;
};
static_assert(sizeof(FreeBlock) <= sizeof(OpContext), "a free context holds the link");

// Deeper than operators nest. A thread that only ends what others began (collectives do so) stops collecting here.
constexpr uint32_t kMaxFree = 128;

enum class ListState : uint32_t { kNew, kOpen, kClosed };

// Trivial, so that it is usable until the very end of the thread. Not initial-exec: that would put the whole library's
// thread-local memory (see name_cache.cc) into the little that the loader keeps for libraries loaded late.
struct FreeList {
  FreeBlock* head;
  uint32_t size;
  ListState state;
};
thread_local FreeList t_free;

// Runs at the end of the thread. Contexts that come back after it go straight to free().
void Close(void*) {
  t_free.state = ListState::kClosed;
  while (FreeBlock* const block = t_free.head) {
    t_free.head = block->next;
    std::free(block);
  }
  t_free.size = 0;
}

// Without a key (a process has 1,024) the lists stay closed: slower, nothing worse.
bool RegisterExit() {
  static pthread_key_t key;
  static const bool valid = pthread_key_create(&key, &Close) == 0;
  return valid && pthread_setspecific(key, &t_free) == 0;
}

}  // namespace

void* OpContext::operator new(size_t size) noexcept {
  FreeBlock* const block = t_free.head;
  if (__builtin_expect(block == nullptr, 0)) return std::malloc(size);
  t_free.head = block->next;
  --t_free.size;
  return block;
}

void OpContext::operator delete(void* memory) noexcept {
  if (__builtin_expect(t_free.state == ListState::kNew, 0)) {
    t_free.state = RegisterExit() ? ListState::kOpen : ListState::kClosed;
  }
  if (t_free.state != ListState::kOpen || t_free.size == kMaxFree) {
    std::free(memory);
    return;
  }
  auto* const block = static_cast<FreeBlock*>(memory);
  block->next = t_free.head;
  t_free.head = block;
  ++t_free.size;
}

}  // namespace ferret::torch_adapter
