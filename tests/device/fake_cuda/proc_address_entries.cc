// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress: the newest variant that is not newer than the version asked for.
#include <cstring>

#include "tests/device/fake_cuda/call.h"

namespace fake_cuda {

std::vector<Export>& Exports() {
  static std::vector<Export>& exports = *new std::vector<Export>;
  return exports;
}

bool AddExports(std::initializer_list<Export> exports) {
  Exports().insert(Exports().end(), exports);
  return true;
}

namespace {

enum Status : int { kFound = 0, kSymbolNotFound = 1, kVersionNotSufficient = 2 };
constexpr uint64_t kPerThreadVariants = 2;

int GetProcAddress(const char* name, void** function, int version, uint64_t flags, int* status) {
  return Enter(kGetProcAddress, Needs::kNothing, [&](const Call& call) -> int {
    if (name == nullptr || function == nullptr || flags > kPerThreadVariants) return kInvalidValue;
    if (version > call.model.driver_version) return kInvalidValue;
    const Export* best = nullptr;
    Status found = kSymbolNotFound;
    for (const Export& candidate : Exports()) {
      if (std::strcmp(candidate.base_name, name) != 0) continue;
      if (call.model.unavailable.count(FindFunction(name)) != 0) break;
      if (candidate.version > version) {
        if (best == nullptr) found = kVersionNotSufficient;
      } else if (best == nullptr || candidate.version > best->version) {
        best = &candidate;
        found = kFound;
      }
    }
    *function = nullptr;
    if (best != nullptr) {
      const bool per_thread = flags == kPerThreadVariants && best->per_thread != nullptr;
      *function = per_thread ? best->per_thread : best->legacy;
    }
    if (status != nullptr) *status = found;
    return kSuccess;
  });
}

}  // namespace
}  // namespace fake_cuda

FAKE_CUDA_API int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return fake_cuda::GetProcAddress(name, function, version, flags, nullptr);
}

FAKE_CUDA_API int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  return fake_cuda::GetProcAddress(name, function, version, flags, status);
}

namespace fake_cuda {
namespace {

[[maybe_unused]] const bool added = AddExports({
    {"cuGetProcAddress", 11030, Address(&cuGetProcAddress), nullptr},
    {"cuGetProcAddress", 12000, Address(&cuGetProcAddress_v2), nullptr},
});

}  // namespace
}  // namespace fake_cuda
