// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/torch_version.h"

#include <gtest/gtest.h>

namespace ferret::torch_adapter {
namespace {

TEST(TorchVersion, IsReadFromTheAbiNumber) {
  const TorchVersion version = TorchVersionFromAbi(uint64_t{2} << 56 | uint64_t{13} << 48 | uint64_t{1} << 40);
  EXPECT_EQ(version.major, 2);
  EXPECT_EQ(version.minor, 13);
  EXPECT_EQ(version.patch, 1);
}

TEST(TorchVersion, AnyPatchOfTheSameMinorIsAccepted) {
  EXPECT_EQ(CheckTorchVersion({2, 13, 0}, {2, 13, 0}), "");
  EXPECT_EQ(CheckTorchVersion({2, 13, 0}, {2, 13, 7}), "");
}

TEST(TorchVersion, AnotherMinorOrMajorIsRefusedInOneLineThatNamesBoth) {
  for (const TorchVersion running : {TorchVersion{2, 14, 1}, TorchVersion{2, 12, 0}, TorchVersion{3, 13, 0}}) {
    const std::string refusal = CheckTorchVersion({2, 13, 0}, running);
    EXPECT_NE(refusal.find("PyTorch 2.13 "), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("has " + std::to_string(running.major) + "." + std::to_string(running.minor)),
              std::string::npos)
        << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
}

TEST(TorchVersion, PyTorchTooOldToSayIsRefused) {
  EXPECT_NE(CheckTorchVersion({2, 13, 0}, TorchVersion{}).find("an older one"), std::string::npos);
}

}  // namespace
}  // namespace ferret::torch_adapter
