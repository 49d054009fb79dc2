// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libtorch_cuda.so beside a PyTorch that has no CUDA: it exports the function by which the adapter asks for
// the current stream, over the fake CUDA driver. Loaded globally, and told to begin, before the adapter comes. Python
// programs steer it with ctypes.

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "tests/device/fake_cuda/fake_cuda.h"

#define EXPORTED __attribute__((visibility("default")))

namespace {

fake_cuda::FakeCuda* g_fake = nullptr;
void* g_context = nullptr;
void* g_stream = nullptr;
std::atomic<void*> g_current{nullptr};
std::atomic<uint64_t> g_asked{0};

}  // namespace

extern "C" {

EXPORTED int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream) {
  g_asked.fetch_add(1, std::memory_order_relaxed);
  if (device_index != 0) return 1;
  *stream = g_current.load(std::memory_order_relaxed);
  return 0;
}

// Loads the driver at that path, on the real clock, and makes a context current on the calling thread, and a stream of it
// PyTorch's current one. 0 is success.
EXPORTED int stand_in_begin(const char* driver) {
  void* const library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, "ferret_fake_cuda");
  if (entry == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  g_fake = reinterpret_cast<fake_cuda::FakeCuda* (*)()>(entry)();
  g_fake->UseMonotonicClock();
  g_context = g_fake->NewContext(0);
  g_fake->MakeCurrent(g_context);
  g_stream = g_fake->NewStream(g_context);
  g_current = g_stream;
  return 0;
}

EXPORTED void stand_in_enter_context() { g_fake->MakeCurrent(g_context); }
EXPORTED void stand_in_leave_context() { g_fake->MakeCurrent(nullptr); }
EXPORTED void* stand_in_stream() { return g_stream; }
// PyTorch's current stream, on all threads: null is the default one.
EXPORTED void stand_in_use_stream(void* stream) { g_current = stream; }
// How often the adapter has asked for it.
EXPORTED uint64_t stand_in_asked() { return g_asked.load(std::memory_order_relaxed); }
EXPORTED uint64_t stand_in_events_created() { return g_fake->GetCounts().events_created; }

}  // extern "C"
