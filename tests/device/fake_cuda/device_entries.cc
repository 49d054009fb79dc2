// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: initialisation, names of errors, devices.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/device/fake_cuda/call.h"

namespace fake_cuda {
namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "stub library loaded instead of a driver"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "call requires a newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device is busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "operation not legal in this state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "launch timed out"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "launch failed"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while a stream captures"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "capture was invalidated"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "implicit dependency on a capture"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "event was last recorded in a capture"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int GetErrorText(Function function, int code, const char** text, const char* ErrorText::*which) {
  return Enter(function, Needs::kNothing, [&](const Call&) -> int {
    if (text == nullptr) return kInvalidValue;
    const auto found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                    [&](const ErrorText& error) { return error.code == code; });
    *text = found == std::end(kErrors) ? nullptr : (*found).*which;
    return *text == nullptr ? kInvalidValue : kSuccess;
  });
}

// A call about one device, with one out-parameter.
template <typename Body>
int OfDevice(Function function, const void* out, int device, const Body& body) {
  return Enter(function, [&](const Call& call) -> int {
    if (out == nullptr) return kInvalidValue;
    if (device < 0 || static_cast<size_t>(device) >= call.model.devices.size()) return kInvalidDevice;
    return body(call.model.devices[static_cast<size_t>(device)]);
  });
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_CUDA_API int cuInit(unsigned flags) {
  return Enter(kInit, Needs::kNothing, [&](const Call& call) -> int {
    if (flags != 0) return kInvalidValue;
    return call.model.init_result = call.model.devices.empty() ? kNoDevice : kSuccess;
  });
}

FAKE_CUDA_API int cuDriverGetVersion(int* version) {
  return Enter(kDriverGetVersion, Needs::kNothing, [&](const Call& call) -> int {
    if (version == nullptr) return kInvalidValue;
    *version = call.model.driver_version;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuGetErrorName(int code, const char** name) {
  return GetErrorText(kGetErrorName, code, name, &ErrorText::name);
}

FAKE_CUDA_API int cuGetErrorString(int code, const char** text) {
  return GetErrorText(kGetErrorString, code, text, &ErrorText::text);
}

FAKE_CUDA_API int cuDeviceGetCount(int* count) {
  return Enter(kDeviceGetCount, [&](const Call& call) -> int {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<int>(call.model.devices.size());
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDeviceGet(int* device, int ordinal) {
  return OfDevice(kDeviceGet, device, ordinal, [&](const Device&) {
    *device = ordinal;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDeviceGetName(char* name, int size, int device) {
  return OfDevice(kDeviceGetName, name, device, [&](const Device& named) -> int {
    if (size <= 0) return kInvalidValue;
    const size_t length = std::min(named.name.size(), static_cast<size_t>(size) - 1);
    std::memcpy(name, named.name.data(), length);
    name[length] = '\0';
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDeviceGetUuid_v2(char* uuid, int device) {
  return OfDevice(kDeviceGetUuid, uuid, device, [&](const Device&) {
    for (int i = 0; i < 16; ++i) uuid[i] = static_cast<char>(16 * device + i);
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return OfDevice(kDeviceGetAttribute, value, device, [&](const Device& asked) -> int {
    constexpr int kLastAttribute = 150;
    if (attribute < 1 || attribute > kLastAttribute) return kInvalidValue;
    const auto found = asked.attributes.find(attribute);
    *value = found != asked.attributes.end() ? found->second : 0;
    return kSuccess;
  });
}

FAKE_CUDA_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return OfDevice(kDeviceTotalMem, bytes, device, [&](const Device& asked) {
    *bytes = asked.memory_bytes;
    return kSuccess;
  });
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuInit", 2000, Address(&cuInit), nullptr},
    {"cuDriverGetVersion", 2020, Address(&cuDriverGetVersion), nullptr},
    {"cuGetErrorName", 6000, Address(&cuGetErrorName), nullptr},
    {"cuGetErrorString", 6000, Address(&cuGetErrorString), nullptr},
    {"cuDeviceGetCount", 2000, Address(&cuDeviceGetCount), nullptr},
    {"cuDeviceGet", 2000, Address(&cuDeviceGet), nullptr},
    {"cuDeviceGetName", 2000, Address(&cuDeviceGetName), nullptr},
    {"cuDeviceGetUuid", 11040, Address(&cuDeviceGetUuid_v2), nullptr},
    {"cuDeviceGetAttribute", 2000, Address(&cuDeviceGetAttribute), nullptr},
    {"cuDeviceTotalMem", 3020, Address(&cuDeviceTotalMem_v2), nullptr},
});
