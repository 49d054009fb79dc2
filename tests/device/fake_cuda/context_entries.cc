// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: contexts.
#include <algorithm>
#include <cstdint>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

bool IsDevice(const Call& call, int device) {
  return device >= 0 && static_cast<size_t>(device) < call.model.devices.size();
}

int Create(void** context, int device) {
  return Enter(kCtxCreate, [&](const Call& call) -> int {
    if (context == nullptr) return kInvalidValue;
    if (!IsDevice(call, device)) return kInvalidDevice;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    *context = call.model.contexts.Add(device, false);
    call.me.contexts.push_back(*context);
    return kSuccess;
  });
}

// Whether a thread may make it current.
int CheckUsable(const Call& call, void* context) {
  const size_t index = call.model.contexts.Find(context);
  if (index == HandleSpace::kNone) return kInvalidContext;
  return call.model.contexts.At(index).Error();
}

}  // namespace

FAKE_CUDA_API int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return Enter(kDevicePrimaryCtxGetState, [&](const Call& call) -> int {
    if (flags == nullptr || active == nullptr) return kInvalidValue;
    if (!IsDevice(call, device)) return kInvalidDevice;
    *flags = 0;
    *active = call.driver.ActivePrimary(device) != HandleSpace::kNone ? 1 : 0;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  return Enter(kDevicePrimaryCtxRetain, [&](const Call& call) -> int {
    if (context == nullptr) return kInvalidValue;
    return IsDevice(call, device) ? call.driver.RetainPrimary(device, context) : kInvalidDevice;
  });
}

FAKE_CUDA_API int cuDevicePrimaryCtxRelease_v2(int device) {
  return Enter(kDevicePrimaryCtxRelease, [&](const Call& call) -> int {
    return IsDevice(call, device) ? call.driver.ReleasePrimary(device, /*all=*/false) : kInvalidDevice;
  });
}

FAKE_CUDA_API int cuDevicePrimaryCtxReset_v2(int device) {
  return Enter(kDevicePrimaryCtxReset, [&](const Call& call) -> int {
    return IsDevice(call, device) ? call.driver.ReleasePrimary(device, /*all=*/true) : kInvalidDevice;
  });
}

FAKE_CUDA_API int cuCtxCreate_v2(void** context, unsigned, int device) { return Create(context, device); }
FAKE_CUDA_API int cuCtxCreate_v3(void** context, void*, int, unsigned, int device) { return Create(context, device); }
FAKE_CUDA_API int cuCtxCreate_v4(void** context, void*, unsigned, int device) { return Create(context, device); }

FAKE_CUDA_API int cuCtxDestroy_v2(void* context) {
  return Enter(kCtxDestroy, [&](const Call& call) -> int {
    const int error = call.driver.DestroyContext(context);
    if (error == kSuccess && call.me.Current() == context) call.me.contexts.pop_back();
    return error;
  });
}

FAKE_CUDA_API int cuCtxGetCurrent(void** context) {
  return Enter(kCtxGetCurrent, [&](const Call& call) -> int {
    if (context == nullptr) return kInvalidValue;
    *context = call.me.Current();
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxSetCurrent(void* context) {
  return Enter(kCtxSetCurrent, [&](const Call& call) -> int {
    if (context != nullptr) {
      if (const int error = CheckUsable(call, context)) return error;
    }
    call.me.SetCurrent(context);
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxPushCurrent_v2(void* context) {
  return Enter(kCtxPushCurrent, [&](const Call& call) -> int {
    if (const int error = CheckUsable(call, context)) return error;
    call.me.contexts.push_back(context);
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxPopCurrent_v2(void** context) {
  return Enter(kCtxPopCurrent, [&](const Call& call) -> int {
    if (call.me.contexts.empty()) return kInvalidContext;
    if (context != nullptr) *context = call.me.Current();
    call.me.contexts.pop_back();
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxGetDevice(int* device) {
  return Enter(kCtxGetDevice, [&](const Call& call) -> int {
    if (device == nullptr) return kInvalidValue;
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    *device = call.model.contexts.At(context).device;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxGetId(void* context, uint64_t* id) {
  return Enter(kCtxGetId, [&](const Call& call) -> int {
    if (id == nullptr) return kInvalidValue;
    size_t index = call.model.contexts.Find(context);
    if (context == nullptr) {
      if (const int error = call.driver.CurrentContext(call.me, &index)) return error;
    }
    if (index == HandleSpace::kNone) return kInvalidContext;
    if (const int error = call.model.contexts.At(index).Error()) return error;
    *id = call.model.contexts.At(index).id;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return Enter(kCtxGetStreamPriorityRange, [&](const Call& call) -> int {
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuCtxSynchronize() {
  return Enter(kCtxSynchronize, [&](const Call& call) -> int {
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    int64_t end_ns = 0;
    for (const size_t stream : call.model.contexts.At(context).streams) {
      end_ns = std::max(end_ns, call.model.streams.ReadyNs(stream));
    }
    call.lock.unlock();
    call.driver.clock.WaitUntilNs(end_ns);
    return kSuccess;
  });
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuDevicePrimaryCtxGetState", 7000, Address(&cuDevicePrimaryCtxGetState), nullptr},
    {"cuDevicePrimaryCtxRetain", 7000, Address(&cuDevicePrimaryCtxRetain), nullptr},
    {"cuDevicePrimaryCtxRelease", 11000, Address(&cuDevicePrimaryCtxRelease_v2), nullptr},
    {"cuDevicePrimaryCtxReset", 11000, Address(&cuDevicePrimaryCtxReset_v2), nullptr},
    {"cuCtxCreate", 3020, Address(&cuCtxCreate_v2), nullptr},
    {"cuCtxCreate", 11040, Address(&cuCtxCreate_v3), nullptr},
    {"cuCtxCreate", 12050, Address(&cuCtxCreate_v4), nullptr},
    {"cuCtxDestroy", 4000, Address(&cuCtxDestroy_v2), nullptr},
    {"cuCtxGetCurrent", 4000, Address(&cuCtxGetCurrent), nullptr},
    {"cuCtxSetCurrent", 4000, Address(&cuCtxSetCurrent), nullptr},
    {"cuCtxPushCurrent", 4000, Address(&cuCtxPushCurrent_v2), nullptr},
    {"cuCtxPopCurrent", 4000, Address(&cuCtxPopCurrent_v2), nullptr},
    {"cuCtxGetDevice", 2000, Address(&cuCtxGetDevice), nullptr},
    {"cuCtxGetId", 12000, Address(&cuCtxGetId), nullptr},
    {"cuCtxGetStreamPriorityRange", 5050, Address(&cuCtxGetStreamPriorityRange), nullptr},
    {"cuCtxSynchronize", 2000, Address(&cuCtxSynchronize), nullptr},
});
