// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 that computes: the kernels of examples/ and bench/, translated from PTX, run on the calling thread
// before a launch returns. So a test sees whether the programs learn and measure, on a machine without a GPU. There is
// no queue, hence nothing is ever pending, and the device's clock is CLOCK_MONOTONIC. Memory is tracked: an access
// outside of an allocation ends the process, and fresh memory is NaN. How a driver fails, waits and captures is the
// fake driver's part, tests/device/fake_cuda.

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500;
constexpr size_t kLargest = size_t{64} << 20;  // allocation

// Where one thread of a launch is.
struct Place {
  uint32_t block, width, thread;
};

struct Kernel {
  const char* name;
  void (*run)(const Place& place, void** arguments);
};

using Ranges = std::map<uint64_t, size_t>;  // address, bytes

std::mutex g_mutex;
Ranges& Allocations() {
  static Ranges& ranges = *new Ranges;
  return ranges;
}

struct Range {
  uint64_t from = 0, to = 0;
  bool Holds(uint64_t address, size_t size) const { return from <= address && address + size <= to; }
};

// That the address is in, or an empty one.
Range Find(const Ranges& ranges, uint64_t address) {
  auto range = ranges.upper_bound(address);
  if (range == ranges.begin()) return {};
  --range;
  return {range->first, range->first + range->second};
}

// The device runs one kernel at a time. Of the one that it runs: what was allocated at its start, and where the last
// accesses went.
std::mutex g_running;
Ranges& Reachable() {
  static Ranges& ranges = *new Ranges;
  return ranges;
}
Range g_last[5];  // as many as a kernel has pointers
unsigned g_next = 0;

void Require(uint64_t address, size_t size) {
  for (const Range& range : g_last) {
    if (range.Holds(address, size)) return;
  }
  const Range range = Find(Reachable(), address);
  if (!range.Holds(address, size)) {
    std::fprintf(stderr, "a kernel reads or writes outside of what was allocated\n");
    std::abort();
  }
  g_last[g_next++ % 5] = range;
}

template <typename Value>
Value Load(uint64_t address) {
  Require(address, sizeof(Value));
  Value value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

template <typename Value>
void Store(uint64_t address, Value value) {
  Require(address, sizeof(Value));
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint64_t ClockNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

#include "tests/gpu_programs/cpu_driver/kernels.inc"

Ranges Now() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return Allocations();
}

void* const kContext = reinterpret_cast<void*>(uintptr_t{8});
thread_local void* t_current = nullptr;
thread_local std::vector<void*> t_pushed;
thread_local int t_capture_mode = 0;

}  // namespace

struct CUevent_st {
  uint64_t stamp_ns = 0;  // 0: never recorded
};

#define CUDA_FUNCTION extern "C" __attribute__((visibility("default"))) int

CUDA_FUNCTION cuInit(unsigned) { return 0; }
CUDA_FUNCTION cuDriverGetVersion(int* version) {
  *version = 12000;
  return 0;
}
CUDA_FUNCTION cuGetErrorName(int result, const char** name) {
  switch (result) {
    case 0: *name = "CUDA_SUCCESS"; break;
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case kInvalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case kNotFound: *name = "CUDA_ERROR_NOT_FOUND"; break;
    default: return kInvalidValue;
  }
  return 0;
}
CUDA_FUNCTION cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
CUDA_FUNCTION cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? 0 : kInvalidValue;
}
CUDA_FUNCTION cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "the CPU");
  return 0;
}
CUDA_FUNCTION cuDeviceGetAttribute(int* value, int, int) {
  *value = 1;
  return 0;
}
CUDA_FUNCTION cuDevicePrimaryCtxRetain(void** context, int) {
  *context = kContext;
  return 0;
}
CUDA_FUNCTION cuCtxGetCurrent(void** context) {
  *context = t_current;
  return 0;
}
CUDA_FUNCTION cuCtxSetCurrent(void* context) {
  t_current = context;
  return 0;
}
CUDA_FUNCTION cuCtxPushCurrent_v2(void* context) {
  t_pushed.push_back(t_current);
  t_current = context;
  return 0;
}
CUDA_FUNCTION cuCtxPopCurrent_v2(void** context) {
  if (t_pushed.empty()) return kInvalidContext;
  if (context != nullptr) *context = t_current;
  t_current = t_pushed.back();
  t_pushed.pop_back();
  return 0;
}
CUDA_FUNCTION cuCtxGetDevice(int* device) {
  *device = 0;
  return t_current != nullptr ? 0 : kInvalidContext;
}

CUDA_FUNCTION cuStreamCreateWithPriority(void** stream, unsigned, int) {
  static std::atomic<uintptr_t> next{0x1000};
  *stream = reinterpret_cast<void*>(next.fetch_add(16));
  return 0;
}
CUDA_FUNCTION cuStreamGetCtx(void*, void** context) {
  *context = kContext;
  return 0;
}
CUDA_FUNCTION cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, t_capture_mode);
  return 0;
}
CUDA_FUNCTION cuStreamDestroy_v2(void*) { return 0; }
CUDA_FUNCTION cuStreamSynchronize(void*) { return 0; }
CUDA_FUNCTION cuStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}

CUDA_FUNCTION cuEventCreate(CUevent_st** event, unsigned) {
  *event = new CUevent_st;
  return 0;
}
CUDA_FUNCTION cuEventDestroy_v2(CUevent_st* event) {
  delete event;
  return 0;
}
CUDA_FUNCTION cuEventRecord(CUevent_st* event, void*) {
  event->stamp_ns = ClockNs();
  return 0;
}
CUDA_FUNCTION cuEventQuery(CUevent_st*) { return 0; }
CUDA_FUNCTION cuEventElapsedTime(float* ms, CUevent_st* from, CUevent_st* to) {
  if (from->stamp_ns == 0 || to->stamp_ns == 0) return kInvalidHandle;
  *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(to->stamp_ns - from->stamp_ns)) / 1e6);
  return 0;
}

CUDA_FUNCTION cuModuleLoadData(void** module, const void* image) {
  *module = kContext;
  return std::strstr(static_cast<const char*>(image), ".version") != nullptr ? 0 : kInvalidValue;
}
CUDA_FUNCTION cuModuleGetFunction(const Kernel** function, void*, const char* name) {
  for (const Kernel& kernel : kKernels) {
    if (std::strcmp(kernel.name, name) != 0) continue;
    *function = &kernel;
    return 0;
  }
  return kNotFound;
}
CUDA_FUNCTION cuLaunchKernel(const Kernel* kernel, unsigned blocks, unsigned, unsigned, unsigned width, unsigned,
                             unsigned, unsigned, void*, void** arguments, void**) {
  const std::lock_guard<std::mutex> lock(g_running);
  Reachable() = Now();
  for (Range& range : g_last) range = {};
  // All threads of `spin` would spin one after the other, and only the first one writes.
  if (std::strcmp(kernel->name, "spin") == 0) blocks = width = 1;
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < width; ++thread) kernel->run({block, width, thread}, arguments);
  }
  return 0;
}

CUDA_FUNCTION cuMemAlloc_v2(uint64_t* address, size_t size) {
  if (size == 0) return kInvalidValue;
  void* const memory = size <= kLargest ? std::malloc(size) : nullptr;
  if (memory == nullptr) return kOutOfMemory;
  std::memset(memory, 0xff, size);
  *address = reinterpret_cast<uint64_t>(memory);
  const std::lock_guard<std::mutex> lock(g_mutex);
  Allocations()[*address] = size;
  return 0;
}
CUDA_FUNCTION cuMemFree_v2(uint64_t address) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (Allocations().erase(address) == 0) return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
CUDA_FUNCTION cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, void*) {
  if (!Find(Now(), to).Holds(to, size)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return 0;
}
CUDA_FUNCTION cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, void*) {
  if (!Find(Now(), from).Holds(from, size)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), size);
  return 0;
}
