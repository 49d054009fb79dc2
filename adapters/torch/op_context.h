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

#include "adapters/torch/torch_api.h"
#include "ferret/cuda.h"
#include "ferret/internal/hot_path.h"

namespace ferret::torch_adapter {

struct OpContext final : at::ObserverContext {
  OpContext() {}
  // noexcept: out of memory makes the new-expression nullptr, it throws nothing into PyTorch.
  static void* operator new(size_t size) noexcept;
  static void operator delete(void* memory) noexcept;

  internal::ScopeEnd end;
  uint32_t thread = 0;  // Ferret's id of the thread that began the scope
  bool is_async = false;
  // Of OnBeginWithMarks for OnEndWithMarks; without them not even written.
  union {
    internal::DeviceMark mark;
  };
};

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_OP_CONTEXT_H_
