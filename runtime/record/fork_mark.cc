// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/fork_mark.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ferret::internal {
namespace {

using Mark = std::atomic<uint32_t>;

// Release when the page is there, acquired by whoever looks; never goes back to null.
std::atomic<Mark*> g_mark{nullptr};

Mark* NewMark() {
  constexpr size_t kBytes = 4096;
  void* const page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, kBytes, MADV_WIPEONFORK) == 0) return static_cast<Mark*>(page);
  munmap(page, kBytes);
  return nullptr;
}

}  // namespace

void ForkMark::Set() {
  Mark* mark = g_mark.load(std::memory_order_acquire);
  if (mark == nullptr && (mark = NewMark()) == nullptr) return;
  mark->store(1, std::memory_order_relaxed);
  g_mark.store(mark, std::memory_order_release);
}

bool ForkMark::Lost() {
  const Mark* const mark = g_mark.load(std::memory_order_acquire);
  return mark != nullptr && mark->load(std::memory_order_relaxed) == 0;
}

}  // namespace ferret::internal
