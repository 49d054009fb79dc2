// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: modules and launches. A kernel is its name and its time.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

int Launch(void* function, bool empty_grid, void* handle, std::uintptr_t zero_is) {
  return Enter(kLaunchKernel, [&](const Call& call) -> int {
    const std::string* const name = call.model.modules.NameOf(function);
    if (name == nullptr) return kInvalidHandle;
    if (empty_grid) return kInvalidValue;
    size_t stream;
    if (const int error = call.driver.ResolveStream(call.me, handle, zero_is, &stream)) return error;
    return call.driver.Work(stream, call.model.modules.KernelNs(*name), nullptr);
  });
}

}  // namespace

FAKE_CUDA_API int cuModuleLoadData(void** module, const void* image) {
  return Enter(kModuleLoadData, [&](const Call& call) -> int {
    if (module == nullptr || image == nullptr) return kInvalidValue;
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    *module = call.model.modules.Load();
    return kSuccess;
  });
}

FAKE_CUDA_API int cuModuleUnload(void* module) {
  return Enter(kModuleUnload,
               [&](const Call& call) -> int { return call.model.modules.Unload(module) ? kSuccess : kInvalidHandle; });
}

FAKE_CUDA_API int cuModuleGetFunction(void** function, void* module, const char* name) {
  return Enter(kModuleGetFunction, [&](const Call& call) -> int {
    if (function == nullptr || name == nullptr) return kInvalidValue;
    void* const found = call.model.modules.Function(module, name);
    if (found == nullptr) return kInvalidHandle;
    *function = found;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned, void* stream, void**, void**) {
  const bool empty = grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 || block_y == 0 || block_z == 0;
  return Launch(function, empty, stream, kLegacyStream);
}
FAKE_CUDA_API int cuLaunchKernel_ptsz(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned, void* stream,
                                      void**, void**) {
  const bool empty = grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 || block_y == 0 || block_z == 0;
  return Launch(function, empty, stream, kPerThreadStream);
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuModuleLoadData", 2000, Address(&cuModuleLoadData), nullptr},
    {"cuModuleUnload", 2000, Address(&cuModuleUnload), nullptr},
    {"cuModuleGetFunction", 2000, Address(&cuModuleGetFunction), nullptr},
    {"cuLaunchKernel", 4000, Address(&cuLaunchKernel), Address(&cuLaunchKernel_ptsz)},
});
