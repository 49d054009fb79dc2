// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Handles that are numbers in disguise: a kind and an index. Looking one up needs no search, no handle is given out
// twice unless a table says so, and what is no handle of the kind is recognised.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_HANDLES_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_HANDLES_H_

#include <cstddef>
#include <cstdint>

namespace fake_cuda {

class HandleSpace {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // `first`: where the space of the same kind before this one ended.
  HandleSpace(std::uintptr_t kind, size_t first) : kind_(kind), first_(first) {}

  void* At(size_t index) const { return reinterpret_cast<void*>(kind_ << 44 | (first_ + index) << 4); }

  // Of `size` handles given out; kNone for everything else.
  size_t IndexOf(const void* handle, size_t size) const {
    const std::uintptr_t value = reinterpret_cast<std::uintptr_t>(handle);
    if (value >> 44 != kind_ || (value & 15) != 0) return kNone;
    const size_t number = (value & ((std::uintptr_t{1} << 44) - 1)) >> 4;
    return number >= first_ && number - first_ < size ? number - first_ : kNone;
  }

  size_t EndOf(size_t size) const { return first_ + size; }

 private:
  const std::uintptr_t kind_;
  const size_t first_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_HANDLES_H_
