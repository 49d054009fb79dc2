// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA's driver API, found at run time: with it gpu_mlp and the measurements in bench/gpu_bench need neither a toolkit
// to be built nor a driver to start. Only what these programs call is here, under the names and types of CUDA's cuda.h.
//
//     gpu::Driver driver;
//     if (std::string why = driver.Load(); !why.empty()) ...      // no driver
//     GPU_CALL(driver, cuStreamSynchronize, stream);              // throws gpu::DriverError
//
// FERRET_CUDA_LIBRARY=path takes the driver from there, as Ferret itself does, and says so on standard error: no run
// against a driver made for tests may pass for a real one.

#ifndef FERRET_EXAMPLES_GPU_DRIVER_H_
#define FERRET_EXAMPLES_GPU_DRIVER_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgreenCtx_st;
struct CUdevResourceDesc_st;
struct CUmod_st;
struct CUstream_st;

namespace gpu {

using Result = int;  // CUresult: 0 is success
using Device = int;
using Context = CUctx_st*;
using Event = CUevent_st*;
using Function = CUfunc_st*;
using Module = CUmod_st*;
using Stream = CUstream_st*;
using Address = unsigned long long;  // CUdeviceptr

inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotReady = 600;
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr int kCaptureGlobal = 0;
inline constexpr int kCaptureRelaxed = 2;

// name, exported name, parameters. Without these the programs can do nothing.
#define GPU_REQUIRED_FUNCTIONS(X)                                                                                      \
  X(cuInit, "cuInit", (unsigned))                                                                                      \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int*))                                                                  \
  X(cuGetErrorName, "cuGetErrorName", (Result, const char**))                                                          \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int*))                                                                      \
  X(cuDeviceGet, "cuDeviceGet", (Device*, int))                                                                        \
  X(cuDeviceGetName, "cuDeviceGetName", (char*, int, Device))                                                          \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, Device))                                                 \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context*, Device))                                          \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (Context))                                                                     \
  X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", (Stream*, unsigned, int))                                \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (Stream))                                                                   \
  X(cuStreamSynchronize, "cuStreamSynchronize", (Stream))                                                              \
  X(cuModuleLoadData, "cuModuleLoadData", (Module*, const void*))                                                      \
  X(cuModuleGetFunction, "cuModuleGetFunction", (Function*, Module, const char*))                                      \
  X(cuMemAlloc, "cuMemAlloc_v2", (Address*, size_t))                                                                   \
  X(cuMemFree, "cuMemFree_v2", (Address))                                                                              \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Address, const void*, size_t, Stream))                                 \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, Address, size_t, Stream))                                       \
  X(cuLaunchKernel, "cuLaunchKernel",                                                                                  \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

// Null where the driver lacks them. Only measurements call them.
#define GPU_OPTIONAL_FUNCTIONS(X)                                                                                      \
  X(cuEventCreate, "cuEventCreate", (Event*, unsigned))                                                                \
  X(cuEventDestroy, "cuEventDestroy_v2", (Event))                                                                      \
  X(cuEventRecord, "cuEventRecord", (Event, Stream))                                                                   \
  X(cuEventQuery, "cuEventQuery", (Event))                                                                             \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float*, Event, Event))                                                  \
  X(cuEventElapsedTimeV2, "cuEventElapsedTime_v2", (float*, Event, Event))                                             \
  X(cuStreamIsCapturing, "cuStreamIsCapturing", (Stream, int*))                                                        \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (Stream, int))                                                    \
  X(cuStreamEndCapture, "cuStreamEndCapture", (Stream, void**))                                                        \
  X(cuGraphDestroy, "cuGraphDestroy", (void*))                                                                         \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int*))                                    \
  X(cuDeviceGetDevResource, "cuDeviceGetDevResource", (Device, void*, int))                                            \
  X(cuDevResourceGenerateDesc, "cuDevResourceGenerateDesc", (CUdevResourceDesc_st**, void*, unsigned))                 \
  X(cuGreenCtxCreate, "cuGreenCtxCreate", (CUgreenCtx_st**, CUdevResourceDesc_st*, Device, unsigned))                  \
  X(cuGreenCtxDestroy, "cuGreenCtxDestroy", (CUgreenCtx_st*))                                                          \
  X(cuGreenCtxStreamCreate, "cuGreenCtxStreamCreate", (Stream*, CUgreenCtx_st*, unsigned, int))                        \
  X(cuCtxFromGreenCtx, "cuCtxFromGreenCtx", (Context*, CUgreenCtx_st*))

// What a call of the driver came to. what() is one line: the function and the error's name and number.
class DriverError : public std::runtime_error {
 public:
  DriverError(Result result, const std::string& text) : std::runtime_error(text), code(result) {}
  const Result code;
};

class Driver {
 public:
#define GPU_POINTER(name, symbol, parameters) Result(*name) parameters = nullptr;
  GPU_REQUIRED_FUNCTIONS(GPU_POINTER)
  GPU_OPTIONAL_FUNCTIONS(GPU_POINTER)
#undef GPU_POINTER

  // Finds the library and its functions. Why it cannot, or "".
  std::string Load() {
    const char* const given = std::getenv("FERRET_CUDA_LIBRARY");
    const bool other = given != nullptr && *given != '\0';
    const char* const path = other ? given : "libcuda.so.1";
    if (other) std::fprintf(stderr, "NOT the machine's own CUDA driver: FERRET_CUDA_LIBRARY=%s\n", path);
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return dlerror();
#define GPU_FIND(name, symbol, parameters) name = reinterpret_cast<Result(*) parameters>(dlsym(library, symbol));
#define GPU_FIND_REQUIRED(name, symbol, parameters) \
  GPU_FIND(name, symbol, parameters)                \
  if (name == nullptr) return std::string(path) + " has no " + symbol;
    GPU_REQUIRED_FUNCTIONS(GPU_FIND_REQUIRED)
    GPU_OPTIONAL_FUNCTIONS(GPU_FIND)
#undef GPU_FIND_REQUIRED
#undef GPU_FIND
    return "";
  }

  std::string ErrorName(Result result) const {
    const char* name = nullptr;
    if (cuGetErrorName(result, &name) != 0 || name == nullptr) name = "an error that the driver has no name for";
    return std::string(name) + " (" + std::to_string(result) + ")";
  }

  void Check(Result result, const char* function) const {
    if (result != 0) throw DriverError(result, std::string(function) + ": " + ErrorName(result));
  }
};

#define GPU_CALL(driver, function, ...) (driver).Check((driver).function(__VA_ARGS__), #function)

// The first device, with its primary context current on the calling thread. Why there is none, or "". Errors that are
// not "there is no device" are thrown.
inline std::string OpenFirstDevice(const Driver& driver, Device* device, Context* context) {
  const Result started = driver.cuInit(0);
  int count = 0;
  if (started == 0) GPU_CALL(driver, cuDeviceGetCount, &count);
  if (started != 0 || count == 0) return "cuInit: " + (started != 0 ? driver.ErrorName(started) : "no device");
  GPU_CALL(driver, cuDeviceGet, device, 0);
  GPU_CALL(driver, cuDevicePrimaryCtxRetain, context, *device);
  GPU_CALL(driver, cuCtxSetCurrent, *context);
  return "";
}

}  // namespace gpu

#endif  // FERRET_EXAMPLES_GPU_DRIVER_H_
