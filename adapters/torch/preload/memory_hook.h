// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Between libferret_preload.so, which PyTorch's allocators call, and libferret_torch.so, which records. C, because the
// preloaded library needs nothing but libc.

#ifndef FERRET_ADAPTERS_TORCH_PRELOAD_MEMORY_HOOK_H_
#define FERRET_ADAPTERS_TORCH_PRELOAD_MEMORY_HOOK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As c10::Device is laid out, and hence passed.
struct ferret_torch_device {
  int8_t type;
  int8_t index;
};

// Called on the thread that allocates, perhaps with an allocator's lock held: neither may allocate from PyTorch.
struct ferret_memory_observer {
  bool (*wanted)(void);
  void (*report)(void* address, int64_t bytes, size_t total_allocated, size_t total_reserved,
                 struct ferret_torch_device device);
  void (*out_of_memory)(int64_t bytes, size_t total_allocated, size_t total_reserved,
                        struct ferret_torch_device device);
};

// `void ferret_preload_observe_memory(const struct ferret_memory_observer*)`: for the rest of the process.
#define FERRET_OBSERVE_MEMORY "ferret_preload_observe_memory"
typedef void (*ferret_observe_memory_function)(const struct ferret_memory_observer* observer);

#endif /* FERRET_ADAPTERS_TORCH_PRELOAD_MEMORY_HOOK_H_ */
