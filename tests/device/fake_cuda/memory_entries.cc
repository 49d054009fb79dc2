// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: memory. Copies and fills happen at once, so that a program sees its data; only their time is modelled.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

enum class Wait { kNo, kYes };

// `bytes` at `address` of the device pass to or from the host, or are filled: `transfer(pointer)`. Waiting calls are on
// the default stream.
template <typename Transfer>
int OnStream(Function function, void* handle, std::uintptr_t zero_is, Wait wait, uint64_t address, size_t bytes,
             const Transfer& transfer) {
  return Enter(function, [&](const Call& call) -> int {
    size_t stream;
    if (const int error = call.driver.ResolveStream(call.me, handle, zero_is, &stream)) return error;
    char* const memory = call.model.memory.Bytes(address, bytes);
    if (memory == nullptr) return kInvalidValue;
    int64_t end_ns;
    if (const int error = call.driver.Work(stream, call.model.modules.copy_ns, &end_ns)) return error;
    if (call.model.streams.At(stream).capture.status == kNoCapture) transfer(memory);
    if (wait == Wait::kNo) return kSuccess;
    call.lock.unlock();
    call.driver.clock.WaitUntilNs(end_ns);
    return kSuccess;
  });
}

int ToDevice(Function function, uint64_t to, const void* from, size_t bytes, void* stream, std::uintptr_t zero_is,
             Wait wait) {
  return OnStream(function, stream, zero_is, wait, to, bytes, [&](char* memory) { std::memcpy(memory, from, bytes); });
}

int ToHost(Function function, void* to, uint64_t from, size_t bytes, void* stream, std::uintptr_t zero_is, Wait wait) {
  return OnStream(function, stream, zero_is, wait, from, bytes, [&](char* memory) { std::memcpy(to, memory, bytes); });
}

int Fill(Function function, uint64_t to, uint32_t value, size_t count, void* stream, std::uintptr_t zero_is) {
  if (count > SIZE_MAX / sizeof value) return kInvalidValue;
  return OnStream(function, stream, zero_is, Wait::kNo, to, count * sizeof value, [&](char* memory) {
    for (size_t i = 0; i < count; ++i) std::memcpy(memory + i * sizeof value, &value, sizeof value);
  });
}

}  // namespace

FAKE_CUDA_API int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return Enter(kMemAlloc, [&](const Call& call) -> int {
    if (address == nullptr || bytes == 0) return kInvalidValue;
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    const uint64_t allocated = call.model.memory.Allocate(bytes);
    if (allocated == 0) return kOutOfMemory;
    *address = allocated;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuMemFree_v2(uint64_t address) {
  return Enter(kMemFree, [&](const Call& call) -> int {
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    return address == 0 || call.model.memory.Free(address) ? kSuccess : kInvalidValue;
  });
}

FAKE_CUDA_API int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return ToDevice(kMemcpyHtoD, to, from, bytes, nullptr, kLegacyStream, Wait::kYes);
}
FAKE_CUDA_API int cuMemcpyHtoD_v2_ptds(uint64_t to, const void* from, size_t bytes) {
  return ToDevice(kMemcpyHtoD, to, from, bytes, nullptr, kPerThreadStream, Wait::kYes);
}
FAKE_CUDA_API int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return ToDevice(kMemcpyHtoDAsync, to, from, bytes, stream, kLegacyStream, Wait::kNo);
}
FAKE_CUDA_API int cuMemcpyHtoDAsync_v2_ptsz(uint64_t to, const void* from, size_t bytes, void* stream) {
  return ToDevice(kMemcpyHtoDAsync, to, from, bytes, stream, kPerThreadStream, Wait::kNo);
}

FAKE_CUDA_API int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return ToHost(kMemcpyDtoH, to, from, bytes, nullptr, kLegacyStream, Wait::kYes);
}
FAKE_CUDA_API int cuMemcpyDtoH_v2_ptds(void* to, uint64_t from, size_t bytes) {
  return ToHost(kMemcpyDtoH, to, from, bytes, nullptr, kPerThreadStream, Wait::kYes);
}
FAKE_CUDA_API int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return ToHost(kMemcpyDtoHAsync, to, from, bytes, stream, kLegacyStream, Wait::kNo);
}
FAKE_CUDA_API int cuMemcpyDtoHAsync_v2_ptsz(void* to, uint64_t from, size_t bytes, void* stream) {
  return ToHost(kMemcpyDtoHAsync, to, from, bytes, stream, kPerThreadStream, Wait::kNo);
}

FAKE_CUDA_API int cuMemsetD32_v2(uint64_t to, uint32_t value, size_t count) {
  return Fill(kMemsetD32, to, value, count, nullptr, kLegacyStream);
}
FAKE_CUDA_API int cuMemsetD32_v2_ptds(uint64_t to, uint32_t value, size_t count) {
  return Fill(kMemsetD32, to, value, count, nullptr, kPerThreadStream);
}
FAKE_CUDA_API int cuMemsetD32Async(uint64_t to, uint32_t value, size_t count, void* stream) {
  return Fill(kMemsetD32Async, to, value, count, stream, kLegacyStream);
}
FAKE_CUDA_API int cuMemsetD32Async_ptsz(uint64_t to, uint32_t value, size_t count, void* stream) {
  return Fill(kMemsetD32Async, to, value, count, stream, kPerThreadStream);
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuMemAlloc", 3020, Address(&cuMemAlloc_v2), nullptr},
    {"cuMemFree", 3020, Address(&cuMemFree_v2), nullptr},
    {"cuMemcpyHtoD", 3020, Address(&cuMemcpyHtoD_v2), Address(&cuMemcpyHtoD_v2_ptds)},
    {"cuMemcpyHtoDAsync", 3020, Address(&cuMemcpyHtoDAsync_v2), Address(&cuMemcpyHtoDAsync_v2_ptsz)},
    {"cuMemcpyDtoH", 3020, Address(&cuMemcpyDtoH_v2), Address(&cuMemcpyDtoH_v2_ptds)},
    {"cuMemcpyDtoHAsync", 3020, Address(&cuMemcpyDtoHAsync_v2), Address(&cuMemcpyDtoHAsync_v2_ptsz)},
    {"cuMemsetD32", 3020, Address(&cuMemsetD32_v2), Address(&cuMemsetD32_v2_ptds)},
    {"cuMemsetD32Async", 3020, Address(&cuMemsetD32Async), Address(&cuMemsetD32Async_ptsz)},
});
