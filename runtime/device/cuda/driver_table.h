// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DriverTable: the functions of the CUDA driver, found at run time.
//
// Never linked: one binary runs where there is a driver and where there is none. The library that the process has loaded
// already is preferred; it is never unloaded; cuInit is never called, since the first call of it opens the devices, and
// only the program knows whether it wants that.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_DRIVER_TABLE_H_
#define FERRET_RUNTIME_DEVICE_CUDA_DRIVER_TABLE_H_

#include <string>

#include "runtime/device/cuda/driver_api.h"

namespace ferret::internal {

struct DriverTable {
  // Without one of these there is no timing.
  int (*driver_get_version)(int*) = nullptr;
  int (*device_get_count)(int*) = nullptr;
  int (*ctx_get_current)(CuContext*) = nullptr;
  int (*ctx_push_current)(CuContext) = nullptr;
  int (*ctx_pop_current)(CuContext*) = nullptr;
  int (*ctx_get_device)(CuDevice*) = nullptr;
  int (*stream_get_ctx)(CuStream, CuContext*) = nullptr;
  int (*stream_is_capturing)(CuStream, int*) = nullptr;
  int (*stream_create_with_priority)(CuStream*, unsigned, int) = nullptr;
  int (*thread_exchange_capture_mode)(int*) = nullptr;
  int (*event_create)(CuEvent*, unsigned) = nullptr;
  int (*event_record)(CuEvent, CuStream) = nullptr;
  int (*event_query)(CuEvent) = nullptr;
  int (*event_elapsed_time)(float*, CuEvent, CuEvent) = nullptr;
  // May be null.
  int (*get_error_name)(int, const char**) = nullptr;
  int (*ctx_get_id)(CuContext, unsigned long long*) = nullptr;
  int (*ctx_get_stream_priority_range)(int*, int*) = nullptr;
  int (*stream_get_ctx_v2)(CuStream, CuContext*, CuGreenContext*) = nullptr;
  int (*stream_get_id)(CuStream, unsigned long long*) = nullptr;
  int (*device_get_name)(char*, int, CuDevice) = nullptr;
  int (*device_get_attribute)(int*, int, CuDevice) = nullptr;
  int (*device_total_mem)(size_t*, CuDevice) = nullptr;

  // For messages: "CUDA_ERROR_NO_DEVICE (100)".
  std::string ErrorText(int result) const;
};

// How looking for the driver went.
enum class DriverOutcome : uint8_t {
  kGood,
  kNoLibrary,      // there is no libcuda.so.1, or it does not load
  kIncomplete,     // it lacks a function that is needed
  kStub,           // it is the stand-in of the toolkit, for linking
  kNoDevice,       // there is a driver, but no device for it
  kNotInitialized  // the program has not initialised it yet
};

struct DriverStatus {
  DriverOutcome outcome = DriverOutcome::kNoLibrary;
  std::string text;  // one line that says so
};

// Fills the table. `path`: the library, usually kDriverLibrary. Opens it if that is needed; calls nothing that initialises
// it. May take milliseconds, and the loader's lock.
DriverStatus LoadDriver(const std::string& path, DriverTable* table);

inline constexpr char kDriverLibrary[] = "libcuda.so.1";

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_DRIVER_TABLE_H_
