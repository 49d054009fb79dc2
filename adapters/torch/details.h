// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is recorded of an operator beyond its name and times, by what the session asks for: its arguments and its
// overload's name, and the Python functions that called it.

#ifndef FERRET_ADAPTERS_TORCH_DETAILS_H_
#define FERRET_ADAPTERS_TORCH_DETAILS_H_

#include <cstdint>

#include "adapters/torch/torch_api.h"

namespace ferret::torch_adapter {

// Whether a session that asks for `wants` (WantBits) needs the details at all, and PyTorch to collect arguments.
bool NeedsDetails(uint32_t wants);
bool NeedsInputs(uint32_t wants);

// For the scope that the calling thread has just begun for `fn`. Throws nothing.
void RecordDetailsOf(const at::RecordFunction& fn);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_DETAILS_H_
