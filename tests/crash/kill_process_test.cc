// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The short form; kill_long_test.cc has many more rounds.

#include "tests/crash/kill_rounds.h"

namespace ferret {
namespace {

TEST(Killed, ProgramsLoseNothingAndNothingIsThereTwice) { RunRounds(10, 40'000, "64M"); }

}  // namespace
}  // namespace ferret
