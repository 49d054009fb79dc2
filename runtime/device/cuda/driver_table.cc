// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/cuda/driver_table.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace ferret::internal {
namespace {

// By their names without a suffix, as cuGetProcAddress wants them, and with it, as they are exported. The version is that
// of the variant that is declared in the table: the driver gives the newest that is not newer.
struct Entry {
  const char* name;
  const char* exported;
  int version;
  bool required;
  size_t offset;
};

#define FERRET_DRIVER_ENTRY(member, name, exported, version, required) \
  Entry{name, exported, version, required, offsetof(DriverTable, member)}

constexpr Entry kEntries[] = {
    FERRET_DRIVER_ENTRY(driver_get_version, "cuDriverGetVersion", "cuDriverGetVersion", 2020, true),
    FERRET_DRIVER_ENTRY(device_get_count, "cuDeviceGetCount", "cuDeviceGetCount", 2000, true),
    FERRET_DRIVER_ENTRY(ctx_get_current, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000, true),
    FERRET_DRIVER_ENTRY(ctx_push_current, "cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000, true),
    FERRET_DRIVER_ENTRY(ctx_pop_current, "cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000, true),
    FERRET_DRIVER_ENTRY(ctx_get_device, "cuCtxGetDevice", "cuCtxGetDevice", 2000, true),
    FERRET_DRIVER_ENTRY(stream_get_ctx, "cuStreamGetCtx", "cuStreamGetCtx", 9020, true),
    FERRET_DRIVER_ENTRY(stream_is_capturing, "cuStreamIsCapturing", "cuStreamIsCapturing", 10000, true),
    FERRET_DRIVER_ENTRY(stream_create_with_priority, "cuStreamCreateWithPriority", "cuStreamCreateWithPriority", 5050,
                        true),
    FERRET_DRIVER_ENTRY(thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode",
                        "cuThreadExchangeStreamCaptureMode", 10010, true),
    FERRET_DRIVER_ENTRY(event_create, "cuEventCreate", "cuEventCreate", 2000, true),
    FERRET_DRIVER_ENTRY(event_record, "cuEventRecord", "cuEventRecord", 2000, true),
    FERRET_DRIVER_ENTRY(event_query, "cuEventQuery", "cuEventQuery", 2000, true),
    FERRET_DRIVER_ENTRY(event_elapsed_time, "cuEventElapsedTime", "cuEventElapsedTime", 12080, true),
    FERRET_DRIVER_ENTRY(get_error_name, "cuGetErrorName", "cuGetErrorName", 6000, false),
    FERRET_DRIVER_ENTRY(ctx_get_id, "cuCtxGetId", "cuCtxGetId", 12000, false),
    FERRET_DRIVER_ENTRY(ctx_get_stream_priority_range, "cuCtxGetStreamPriorityRange", "cuCtxGetStreamPriorityRange",
                        5050, false),
    FERRET_DRIVER_ENTRY(stream_get_ctx_v2, "cuStreamGetCtx", "cuStreamGetCtx_v2", 12050, false),
    FERRET_DRIVER_ENTRY(stream_get_id, "cuStreamGetId", "cuStreamGetId", 12000, false),
    FERRET_DRIVER_ENTRY(device_get_name, "cuDeviceGetName", "cuDeviceGetName", 2000, false),
    FERRET_DRIVER_ENTRY(device_get_attribute, "cuDeviceGetAttribute", "cuDeviceGetAttribute", 2000, false),
    FERRET_DRIVER_ENTRY(device_total_mem, "cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020, false),
};
#undef FERRET_DRIVER_ENTRY

// Streams are passed as handles that say which default stream they mean, so the variants for the legacy one serve both.
constexpr unsigned long long kLegacyStreamVariants = 1;

class Finder {
 public:
  explicit Finder(void* library)
      : library_(library),
        v2_(reinterpret_cast<GetV2>(dlsym(library, "cuGetProcAddress_v2"))),
        v1_(reinterpret_cast<GetV1>(dlsym(library, "cuGetProcAddress"))) {}

  void* Find(const Entry& entry) const {
    void* function = nullptr;
    int status = 0;
    if (v2_ != nullptr) {
      if (v2_(entry.name, &function, entry.version, kLegacyStreamVariants, &status) == kCuSuccess &&
          function != nullptr) {
        return function;
      }
    } else if (v1_ != nullptr) {
      if (v1_(entry.name, &function, entry.version, kLegacyStreamVariants) == kCuSuccess && function != nullptr) {
        return function;
      }
    }
    // An older driver, or a version that it does not know yet: the exported names do not change.
    return dlsym(library_, entry.exported);
  }

 private:
  using GetV2 = int (*)(const char*, void**, int, unsigned long long, int*);
  using GetV1 = int (*)(const char*, void**, int, unsigned long long);
  void* const library_;
  const GetV2 v2_;
  const GetV1 v1_;
};

DriverStatus Judge(const DriverTable& table, const std::string& path) {
  int version = 0;
  int result = table.driver_get_version(&version);
  int devices = 0;
  if (result == kCuSuccess) result = table.device_get_count(&devices);
  if (result == kCuStubLibrary) {
    return {DriverOutcome::kStub, absl::StrCat(path, " is the CUDA toolkit's stub for linking, not a driver")};
  }
  if (result == kCuNotInitialized) return {DriverOutcome::kNotInitialized, "the CUDA driver is not initialised yet"};
  if (result == kCuNoDevice || (result == kCuSuccess && devices == 0)) {
    return {DriverOutcome::kNoDevice, "there is a CUDA driver, but no CUDA device"};
  }
  if (result != kCuSuccess) {
    return {DriverOutcome::kNoDevice, absl::StrCat("the CUDA driver does not work: ", table.ErrorText(result))};
  }
  return {DriverOutcome::kGood,
          absl::StrCat("CUDA driver ", version / 1000, ".", version % 1000 / 10, ", ", devices, " device",
                       devices == 1 ? "" : "s")};
}

}  // namespace

std::string DriverTable::ErrorText(int result) const {
  const char* name = nullptr;
  if (get_error_name == nullptr || get_error_name(result, &name) != kCuSuccess || name == nullptr) {
    return absl::StrCat("error ", result);
  }
  return absl::StrCat(name, " (", result, ")");
}

DriverStatus LoadDriver(const std::string& path, DriverTable* table) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    return {DriverOutcome::kNoLibrary, absl::StrCat("there is no CUDA driver: ", error == nullptr ? path : error)};
  }
  const Finder finder(library);
  for (const Entry& entry : kEntries) {
    void* const function = finder.Find(entry);
    if (function == nullptr && entry.required) {
      return {DriverOutcome::kIncomplete,
              absl::StrCat("the CUDA driver ", path, " is too old: it has no ", entry.name)};
    }
    *reinterpret_cast<void**>(reinterpret_cast<char*>(table) + entry.offset) = function;
  }
  return Judge(*table, path);
}

}  // namespace ferret::internal
