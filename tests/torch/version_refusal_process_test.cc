// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_torch.so in a process with another PyTorch than the one it was built for. The program's own definition of
// the function that tells the version comes before libtorch's.

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <algorithm>
#include <string>

#include "ferret/session.h"

extern "C" __attribute__((visibility("default"))) uint64_t aoti_torch_abi_version() {
  return uint64_t{TORCH_VERSION_MAJOR} << 56 | uint64_t{TORCH_VERSION_MINOR + 1} << 48;
}

namespace ferret {
namespace {

TEST(VersionRefusal, SaysSoInOneLineAndNeverTouchesPyTorch) {
  testing::internal::CaptureStderr();
  void* const adapter = dlopen("adapters/torch/libferret_torch.so", RTLD_NOW | RTLD_LOCAL);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_NE(adapter, nullptr) << dlerror();
  EXPECT_EQ(said.rfind("ferret: libferret_torch.so was built for PyTorch 2.", 0), 0u) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;

  ASSERT_EQ(Start("chrome_trace:" + std::string(std::getenv("TEST_TMPDIR")) + "/refused.json"), "");
  EXPECT_FALSE(at::hasGlobalCallbacks());
  EXPECT_EQ(Stop(), "");
}

}  // namespace
}  // namespace ferret
