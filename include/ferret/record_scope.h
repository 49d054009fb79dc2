// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The kinds of scopes and of devices, numbered as PyTorch numbers them.

#ifndef FERRET_RECORD_SCOPE_H_
#define FERRET_RECORD_SCOPE_H_

#include <cstdint>

namespace ferret {

// at::RecordScope, same numbers.
enum class RecordScope : uint8_t {
  kFunction = 0,
  kBackwardFunction = 1,
  kTorchScriptFunction = 2,
  kKernelFunctionDtype = 3,
  kCustomClass = 4,
  kBuildFeature = 5,
  kLiteInterpreter = 6,
  kUserScope = 7,
  kStaticRuntimeOp = 8,
  kStaticRuntimeModel = 9,
};

// c10::DeviceType, same numbers, for the devices that events can be on.
enum class DeviceType : int8_t { kCpu = 0, kCuda = 1, kXpu = 12, kHpu = 15, kMtia = 19, kPrivateUse1 = 20 };

}  // namespace ferret

#endif  // FERRET_RECORD_SCOPE_H_
