// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The Python functions that called an operator, innermost first, as PyTorch's profiler writes them: "file(line):
// function". The file is as seen from the folder it was imported from, the line is where the function begins, and
// functions of torch.autograd that only lead to the engine are left out.

#ifndef FERRET_ADAPTERS_TORCH_STACKS_H_
#define FERRET_ADAPTERS_TORCH_STACKS_H_

#include <string>

#include "ferret/internal/detail_format.h"

namespace ferret::torch_adapter {

// Frames beyond that many are left out, the outermost.
inline constexpr int kMaxFrames = 128;

// To be called when a session starts that asks for stacks. Empty if they can be had, otherwise the reason why not; then
// WriteStack finds nothing.
std::string PrepareStacks();

// Writes the calling thread's as one item; nothing if it runs no Python. Keeps no frame, no code and no string alive,
// never waits for Python's lock and throws nothing. Functions that the thread has shown lately are not written out
// anew. False if frames were left out for want of room.
bool WriteStack(internal::DetailWriter& writer);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_STACKS_H_
