// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// All of PyTorch that the adapter uses, and whatever differs between releases of PyTorch 2.
//
// So far nothing does: ATen/record_function.h offers the members that callbacks.cc calls under the same names in every
// 2.x. Their offsets, however, are compiled in, hence CheckTorchVersion.

#ifndef FERRET_ADAPTERS_TORCH_TORCH_API_H_
#define FERRET_ADAPTERS_TORCH_TORCH_API_H_

#include <ATen/record_function.h>
#include <torch/version.h>

#include "adapters/torch/torch_version.h"

static_assert(TORCH_VERSION_MAJOR == 2, "the adapter is written for PyTorch 2");

// Part of PyTorch's C ABI since it has one. Weak: null in a PyTorch from before that.
extern "C" __attribute__((weak)) uint64_t aoti_torch_abi_version();

namespace ferret::torch_adapter {

inline constexpr TorchVersion kBuiltForTorch{TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH};

inline TorchVersion RunningTorch() {
  return aoti_torch_abi_version == nullptr ? TorchVersion{} : TorchVersionFromAbi(aoti_torch_abi_version());
}

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_TORCH_API_H_
