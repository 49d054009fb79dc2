// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which PyTorch the adapter was built for, and whether it may run in the one that is in the process. PyTorch promises
// no C++ ABI across minor releases: a RecordFunction whose members have moved would be read wrongly, silently.

#ifndef FERRET_ADAPTERS_TORCH_TORCH_VERSION_H_
#define FERRET_ADAPTERS_TORCH_TORCH_VERSION_H_

#include <cstdint>
#include <string>

namespace ferret::torch_adapter {

struct TorchVersion {
  int major = 0;  // 0: unknown, a PyTorch too old to say
  int minor = 0;
  int patch = 0;
};

// From what aoti_torch_abi_version() returns: major, minor, patch in the three highest bytes.
constexpr TorchVersion TorchVersionFromAbi(uint64_t abi) {
  return {static_cast<int>(abi >> 56), static_cast<int>(abi >> 48 & 0xff), static_cast<int>(abi >> 40 & 0xff)};
}

// Empty if an adapter built for `built` may run in `running`; otherwise one line that says why not and what to do.
std::string CheckTorchVersion(TorchVersion built, TorchVersion running);

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_TORCH_VERSION_H_
