// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands between PyTorch's allocators and its profiler.
//
// The allocators ask c10::memoryProfilingEnabled() and, if so, report what they do. Only one thread-local profiler can
// listen to that, and torch.profiler is to find its place free. But libc10.so exports those functions and calls them
// through the loader, so a preloaded library that defines them is called instead, on all threads. It hands everything
// on to libc10.so as if it were not there, and to the adapter if that has asked (memory_hook.h). Nothing here runs in a
// process without PyTorch.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "adapters/torch/preload/memory_hook.h"
#include "adapters/torch/preload/real_dlopen.h"

#define EXPORTED __attribute__((visibility("default")))

// The names that C++ gives to c10::memoryProfilingEnabled and so on.
#define ENABLED _ZN3c1022memoryProfilingEnabledEv
#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define OUT_OF_MEMORY _ZN3c1028reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

typedef bool (*enabled_function)(void);
typedef void (*report_function)(void*, int64_t, size_t, size_t, struct ferret_torch_device);
typedef void (*out_of_memory_function)(int64_t, size_t, size_t, struct ferret_torch_device);

EXPORTED bool ENABLED(void);
EXPORTED void REPORT(void* address, int64_t bytes, size_t total_allocated, size_t total_reserved,
                     struct ferret_torch_device device);
EXPORTED void OUT_OF_MEMORY(int64_t bytes, size_t total_allocated, size_t total_reserved,
                            struct ferret_torch_device device);
EXPORTED void ferret_preload_observe_memory(const struct ferret_memory_observer* new_observer);

// Release by the adapter, acquired by allocating threads: the observer is complete. Never goes back to null.
static _Atomic(const struct ferret_memory_observer*) observer;

void ferret_preload_observe_memory(const struct ferret_memory_observer* new_observer) {
  atomic_store_explicit(&observer, new_observer, memory_order_release);
}

static const struct ferret_memory_observer* Observer(void) {
  const struct ferret_memory_observer* const present = atomic_load_explicit(&observer, memory_order_acquire);
  return present != NULL && present->wanted() ? present : NULL;
}

static int CopyPathOfC10(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  const char* const slash = strrchr(info->dlpi_name, '/');
  if (strcmp(slash == NULL ? info->dlpi_name : slash + 1, "libc10.so") != 0) return 0;
  snprintf(path, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

// The definition that stands behind ours. PyTorch as Python loads it is in no list that RTLD_NEXT looks at.
static void* Behind(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next != NULL) return next;
  char path[PATH_MAX];
  if (dl_iterate_phdr(CopyPathOfC10, path) == 0) return NULL;
  void* const c10 = RealDlopen()(path, RTLD_LAZY | RTLD_NOLOAD);
  return c10 == NULL ? NULL : dlsym(c10, name);
}

// Looked up at the first call; relaxed, since whoever looks finds the same. While there is none yet, nobody listens.
#define BEHIND(type, name)                                                 \
  ({                                                                       \
    static _Atomic(type) behind;                                           \
    type function = atomic_load_explicit(&behind, memory_order_relaxed);   \
    if (function == NULL) {                                                \
      function = (type)Behind(TEXT(name));                                 \
      atomic_store_explicit(&behind, function, memory_order_relaxed);      \
    }                                                                      \
    function;                                                              \
  })

static bool TorchListens(void) {
  const enabled_function enabled = BEHIND(enabled_function, ENABLED);
  return enabled != NULL && enabled();
}

bool ENABLED(void) { return Observer() != NULL || TorchListens(); }

void REPORT(void* address, int64_t bytes, size_t total_allocated, size_t total_reserved,
            struct ferret_torch_device device) {
  const struct ferret_memory_observer* const present = Observer();
  if (present != NULL) present->report(address, bytes, total_allocated, total_reserved, device);
  // PyTorch may be here only because of us.
  if (!TorchListens()) return;
  const report_function report = BEHIND(report_function, REPORT);
  if (report != NULL) report(address, bytes, total_allocated, total_reserved, device);
}

void OUT_OF_MEMORY(int64_t bytes, size_t total_allocated, size_t total_reserved, struct ferret_torch_device device) {
  const struct ferret_memory_observer* const present = Observer();
  if (present != NULL) present->out_of_memory(bytes, total_allocated, total_reserved, device);
  const out_of_memory_function out_of_memory = BEHIND(out_of_memory_function, OUT_OF_MEMORY);
  if (out_of_memory != NULL) out_of_memory(bytes, total_allocated, total_reserved, device);
}
