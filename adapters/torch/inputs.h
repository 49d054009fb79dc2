// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is recorded of an operator's arguments, as Kineto would show them: types, sizes and strides of tensors and of
// lists of tensors, numbers and short lists of numbers. Anything else, strings too, counts as an argument without a
// value; so do nested tensors and those whose sizes are symbols, since their sizes are no integers.

#ifndef FERRET_ADAPTERS_TORCH_INPUTS_H_
#define FERRET_ADAPTERS_TORCH_INPUTS_H_

#include "adapters/torch/torch_api.h"
#include "ferret/internal/detail_format.h"

namespace ferret::torch_adapter {

// Writes them as one item; nothing if there are none. Takes no reference to a tensor, allocates nothing and throws
// nothing. Tensors that Python classes implement, and integers that are symbols, are asked for their sizes and values:
// that runs Python, which may call operators.
//
// False if a list of tensors was too long for what is left of the buffer, and was written as an empty one.
bool WriteInputs(c10::ArrayRef<const c10::IValue> inputs, internal::DetailWriter& writer);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_INPUTS_H_
