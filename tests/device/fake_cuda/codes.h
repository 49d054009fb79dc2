// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of CUDA's driver API that the model uses: results, flags, special handles, capture modes.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_CODES_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_CODES_H_

#include <cstdint>

namespace fake_cuda {

enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotReady = 600,
  kContextIsDestroyed = 709,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
};

// Handles that name a default stream. 0 is one of the other two, by the variant of the function.
constexpr std::uintptr_t kLegacyStream = 1;
constexpr std::uintptr_t kPerThreadStream = 2;

constexpr unsigned kStreamNonBlocking = 1;

constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kEventInterprocess = 4;
constexpr unsigned kEventRecordExternal = 1;

enum CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum CaptureStatus : int { kNoCapture = 0, kCaptureActive = 1, kCaptureBroken = 2 };

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_CODES_H_
