// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/torch_version.h"

namespace ferret::torch_adapter {
namespace {

std::string Text(TorchVersion v) {
  if (v.major == 0) return "an older one";
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

}  // namespace

std::string CheckTorchVersion(TorchVersion built, TorchVersion running) {
  if (running.major == built.major && running.minor == built.minor) return "";
  return "libferret_torch.so was built for PyTorch " + std::to_string(built.major) + "." +
         std::to_string(built.minor) + " but this process has " + Text(running) +
         "; its operators are not recorded (rebuild Ferret with FERRET_PYTHON naming this Python)";
}

}  // namespace ferret::torch_adapter
