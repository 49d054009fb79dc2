// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/cuda_stream.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "ferret/cuda.h"

namespace ferret::torch_adapter {
namespace {

// Of libtorch_cuda.so, part of PyTorch's C ABI. Nothing but 0 is success.
using GetStream = int32_t (*)(int32_t device_index, void** stream);
// Of the driver, which numbers devices as the CUDA runtime and PyTorch do. Before CUDA is initialised, and while no
// context is current on the thread, it says so by a number other than 0.
using GetDevice = int (*)(int* device);

// Set once and never taken back. The driver's is written first; release, acquired with the other one.
GetDevice g_get_device = nullptr;
std::atomic<GetStream> g_get_stream{nullptr};

void* Find(void* library, const char* name) { return library == nullptr ? nullptr : dlsym(library, name); }

// PyTorch as Python loads it is in no list that RTLD_DEFAULT looks at.
void* FindInTorch(const char* name) {
  if (void* const function = dlsym(RTLD_DEFAULT, name)) return function;
  return Find(dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD), name);
}

}  // namespace

std::string FindCudaStreams() {
  if (HasCudaStreams()) return "";
  void* const get_stream = FindInTorch("aoti_torch_get_current_cuda_stream");
  if (get_stream == nullptr) return "this PyTorch has no CUDA";
  // Loaded if it is not yet, as PyTorch will at its first use of CUDA: that is no use of it, and a session often starts
  // before. Never closed.
  void* const get_device = Find(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL), "cuCtxGetDevice");
  if (get_device == nullptr) return "PyTorch has no CUDA driver here";
  g_get_device = reinterpret_cast<GetDevice>(get_device);
  g_get_stream.store(reinterpret_cast<GetStream>(get_stream), std::memory_order_release);
  return "";
}

bool HasCudaStreams() { return g_get_stream.load(std::memory_order_acquire) != nullptr; }

bool CurrentCudaStream(CUstream_st** stream) {
  const GetStream get_stream = g_get_stream.load(std::memory_order_acquire);
  int device = 0;
  if (g_get_device(&device) != 0) return false;
  void* current = nullptr;
  if (get_stream(device, &current) != 0) return false;
  *stream = current == nullptr ? cuda::LegacyStream() : static_cast<CUstream_st*>(current);
  return true;
}

}  // namespace ferret::torch_adapter
