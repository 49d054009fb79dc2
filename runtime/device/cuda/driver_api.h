// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What Ferret uses of the CUDA driver's interface, declared by itself: no CUDA header is needed to build it. Names and
// numbers are those of NVIDIA's documentation of the CUDA driver API.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_DRIVER_API_H_
#define FERRET_RUNTIME_DEVICE_CUDA_DRIVER_API_H_

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgreenCtx_st;

namespace ferret::internal {

using CuContext = CUctx_st*;
using CuStream = CUstream_st*;
using CuEvent = CUevent_st*;
using CuGreenContext = CUgreenCtx_st*;
using CuDevice = int;

// CUresult: those that are told apart.
enum CuResult : int {
  kCuSuccess = 0,
  kCuInvalidValue = 1,
  kCuOutOfMemory = 2,
  kCuNotInitialized = 3,
  kCuDeinitialized = 4,
  kCuStubLibrary = 34,
  kCuNoDevice = 100,
  kCuInvalidContext = 201,
  kCuEccUncorrectable = 214,
  kCuNvlinkUncorrectable = 220,
  kCuContained = 226,
  kCuInvalidHandle = 400,
  kCuIllegalState = 401,
  kCuNotReady = 600,
  kCuIllegalAddress = 700,
  kCuLaunchTimeout = 702,
  kCuContextIsDestroyed = 709,
  kCuAssert = 710,
  kCuHardwareStackError = 714,
  kCuLaunchFailed = 719,
  kCuMpsConnectionFailed = 805,
  kCuMpsClientTerminated = 810,
  kCuStreamCaptureUnsupported = 900,
  kCuStreamCaptureInvalidated = 901,
  kCuStreamCaptureImplicit = 906,
  kCuCapturedEvent = 907,
  kCuStreamCaptureWrongThread = 908,
  kCuUnknown = 999,
};

// After one of these the context, or the whole device, gives no answer any more.
constexpr bool IsTerminal(int result) {
  return result == kCuDeinitialized || result == kCuEccUncorrectable || result == kCuNvlinkUncorrectable ||
         result == kCuContained || result == kCuIllegalAddress || result == kCuLaunchTimeout ||
         result == kCuContextIsDestroyed || result == kCuAssert ||
         (result >= kCuHardwareStackError && result <= kCuLaunchFailed) ||
         (result >= kCuMpsConnectionFailed && result <= kCuMpsClientTerminated) || result == kCuUnknown;
}

// CUstreamCaptureStatus, CUstreamCaptureMode, stream flags, device attributes.
inline constexpr int kCuCaptureNone = 0;
inline constexpr int kCuCaptureModeRelaxed = 2;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDefault = 0;
inline constexpr int kCuAttributeWarpSize = 10;
inline constexpr int kCuAttributeMultiprocessors = 16;
inline constexpr int kCuAttributeComputeMajor = 75;
inline constexpr int kCuAttributeComputeMinor = 76;

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_DRIVER_API_H_
