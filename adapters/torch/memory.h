// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records what PyTorch's allocators allocate and free, on all threads. They report it only where libferret_preload.so
// was preloaded (preload/memory.c).

#ifndef FERRET_ADAPTERS_TORCH_MEMORY_H_
#define FERRET_ADAPTERS_TORCH_MEMORY_H_

#include <string>

namespace ferret::torch_adapter {

// From here on, records while a session is on that asks for it. Empty, or the reason why there is nothing to record.
std::string ObserveMemory();

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_MEMORY_H_
