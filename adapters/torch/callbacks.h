// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions that PyTorch calls at the begin and at the end of every operator, autograd node and annotation, on the
// thread that runs it, while a session is on.

#ifndef FERRET_ADAPTERS_TORCH_CALLBACKS_H_
#define FERRET_ADAPTERS_TORCH_CALLBACKS_H_

#include <cstdint>
#include <memory>

#include "adapters/torch/torch_api.h"

namespace ferret::torch_adapter {

// Sees the function's name, number, threads and scope; never its tensors. Throws nothing. nullptr when the scope is
// not recorded.
std::unique_ptr<at::ObserverContext> OnBegin(const at::RecordFunction& fn);
// The same and what the session asks for beyond, see details.h. Looks at the tensors if PyTorch was asked for inputs.
std::unique_ptr<at::ObserverContext> OnBeginWithDetails(const at::RecordFunction& fn);
void OnEnd(const at::RecordFunction& fn, at::ObserverContext* context);

// Whether a session that asks for `wants` (WantBits) has what PyTorch runs on CUDA devices timed there.
bool NeedsMarks(uint32_t wants);
// Any of the above and, around what the session has timed, a pair of marks on PyTorch's current stream. Only if
// HasCudaStreams(), and only with each other.
std::unique_ptr<at::ObserverContext> OnBeginWithMarks(const at::RecordFunction& fn);
void OnEndWithMarks(const at::RecordFunction& fn, at::ObserverContext* context);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_CALLBACKS_H_
