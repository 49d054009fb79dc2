// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/windows.h"

#include <gtest/gtest.h>

#include <memory>

namespace ferret::internal {
namespace {

TEST(Windows, AreNumberedAndEndWhenTheyDid) {
  const auto windows = std::make_unique<Windows>();
  const uint32_t first = windows->Begin();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(windows->current(), first);
  EXPECT_EQ(windows->EndOf(first), Windows::kNotEnded);
  windows->End(100);
  EXPECT_EQ(windows->EndOf(first), 100u);
  const uint32_t second = windows->Begin();
  EXPECT_NE(second, first);
  EXPECT_EQ(windows->EndOf(first), 100u);
  EXPECT_EQ(windows->EndOf(second), Windows::kNotEnded);
}

TEST(Windows, RememberTheLatestEndsAndSayWhichAreForgotten) {
  const auto windows = std::make_unique<Windows>();
  const uint32_t first = windows->Begin();
  windows->End(1);
  for (uint32_t i = 1; i < Windows::kRemembered; ++i) {
    windows->Begin();
    windows->End(1 + i);
  }
  EXPECT_EQ(windows->EndOf(first), 1u);
  EXPECT_EQ(windows->EndOf(windows->current()), uint64_t{Windows::kRemembered});
  windows->Begin();
  EXPECT_EQ(windows->EndOf(first), Windows::kForgotten);
  EXPECT_EQ(windows->EndOf(first + 1), 2u);
}

}  // namespace
}  // namespace ferret::internal
