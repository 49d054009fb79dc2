// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/crash/kill_rounds.h"

namespace ferret {
namespace {

TEST(Killed, ProgramsLoseNothingInHundredsOfRounds) { RunRounds(200, 120'000, "8M"); }

}  // namespace
}  // namespace ferret
