// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles and lives of contexts.
#include "tests/device/fake_cuda/contexts.h"

namespace fake_cuda {
namespace {

// Also across Reset. Guarded by the driver's mutex.
uint64_t next_id = 1;

}  // namespace

void* Contexts::Add(int device, bool green) {
  void* const handle = handles_.At(current_.size());
  current_.push_back(lives_.size());
  lives_.push_back(Context{next_id++, handle, device, green});
  return handle;
}

void Contexts::Revive(void* handle) {
  size_t& current = current_[handles_.IndexOf(handle, current_.size())];
  const Context& before = lives_[current];
  const Context next{next_id++, handle, before.device, before.green};
  current = lives_.size();
  lives_.push_back(next);
}

size_t Contexts::Find(const void* handle) const {
  const size_t index = handles_.IndexOf(handle, current_.size());
  return index == HandleSpace::kNone ? index : current_[index];
}

}  // namespace fake_cuda
