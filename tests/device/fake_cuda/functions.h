// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of the fake driver, numbered: counts, failures, hangs and latencies are kept by function. All variants
// of a function (_v2, _ptsz) are one number.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_FUNCTIONS_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_FUNCTIONS_H_

#define FAKE_CUDA_FUNCTIONS(X)                                                                                       \
  X(Init) X(DriverGetVersion) X(GetErrorName) X(GetErrorString) X(GetProcAddress)                                    \
  X(DeviceGetCount) X(DeviceGet) X(DeviceGetName) X(DeviceGetUuid) X(DeviceGetAttribute) X(DeviceTotalMem)           \
  X(DevicePrimaryCtxGetState) X(DevicePrimaryCtxRetain) X(DevicePrimaryCtxRelease) X(DevicePrimaryCtxReset)          \
  X(CtxCreate) X(CtxDestroy) X(CtxGetCurrent) X(CtxSetCurrent) X(CtxPushCurrent) X(CtxPopCurrent) X(CtxGetDevice)    \
  X(CtxGetId) X(CtxGetStreamPriorityRange) X(CtxSynchronize)                                                         \
  X(StreamCreate) X(StreamCreateWithPriority) X(StreamDestroy) X(StreamGetCtx) X(StreamGetId) X(StreamIsCapturing)   \
  X(StreamGetCaptureInfo) X(StreamQuery) X(StreamSynchronize) X(ThreadExchangeStreamCaptureMode)                     \
  X(EventCreate) X(EventDestroy) X(EventRecord) X(EventRecordWithFlags) X(EventQuery) X(EventSynchronize)            \
  X(EventElapsedTime)                                                                                                \
  X(ModuleLoadData) X(ModuleUnload) X(ModuleGetFunction) X(LaunchKernel)                                             \
  X(MemAlloc) X(MemFree) X(MemcpyHtoD) X(MemcpyHtoDAsync) X(MemcpyDtoH) X(MemcpyDtoHAsync) X(MemsetD32)              \
  X(MemsetD32Async)

namespace fake_cuda {

enum Function : int {
#define FAKE_CUDA_FUNCTION(name) k##name,
  FAKE_CUDA_FUNCTIONS(FAKE_CUDA_FUNCTION)
#undef FAKE_CUDA_FUNCTION
      kFunctionCount
};

// "cuEventRecord".
const char* FunctionName(Function function);

// Of a name with or without suffix. Ends the process if it names none: the test has a typing error.
Function FindFunction(const char* name);

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_FUNCTIONS_H_
