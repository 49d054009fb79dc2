// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/memory.h"

#include <dlfcn.h>

#include "adapters/torch/preload/memory_hook.h"
#include "ferret/internal/hot_path.h"
#include "ferret/record_scope.h"

namespace ferret::torch_adapter {
namespace {

// PyTorch numbers devices from 0, and some of its allocators call the CPU's number 0.
int16_t DeviceIndex(ferret_torch_device device) {
  return device.type == static_cast<int8_t>(DeviceType::kCpu) ? int16_t{-1} : int16_t{device.index};
}

bool Wanted() { return internal::Wants(internal::kWantMemory); }

void Report(void* address, int64_t bytes, size_t total_allocated, size_t total_reserved, ferret_torch_device device) {
  internal::RecordMemory({reinterpret_cast<uint64_t>(address), bytes, static_cast<int64_t>(total_allocated),
                          static_cast<int64_t>(total_reserved), device.type, DeviceIndex(device), false});
}

void OutOfMemory(int64_t bytes, size_t total_allocated, size_t total_reserved, ferret_torch_device device) {
  internal::RecordMemory({0, bytes, static_cast<int64_t>(total_allocated), static_cast<int64_t>(total_reserved),
                          device.type, DeviceIndex(device), true});
}

constexpr ferret_memory_observer kObserver{&Wanted, &Report, &OutOfMemory};

}  // namespace

std::string ObserveMemory() {
  const auto observe = reinterpret_cast<ferret_observe_memory_function>(dlsym(RTLD_DEFAULT, FERRET_OBSERVE_MEMORY));
  if (observe == nullptr) return "that needs libferret_preload.so to be preloaded, as `ferret run` does";
  observe(&kObserver);
  return "";
}

}  // namespace ferret::torch_adapter
