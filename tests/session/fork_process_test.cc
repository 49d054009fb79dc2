// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Children of a recording process, as data loaders make them.

#include <gtest/gtest.h>

#include "tests/session/program_runs.h"

namespace ferret {
namespace {

class Fork : public ProgramRuns {};

// Children cannot record, start, stop or flush, whether they end by exit or by _exit; nothing of that reaches the file.
TEST_F(Fork, LeavesTheParentsTraceAsIfThereWereNoChildren) {
  // A child of a threaded process has what its lost threads held: to a leak checker those are leaks.
  const ProgramRun run = Run("ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 " + ToFile(), "fork");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.files, Files{"trace.json"});
  EXPECT_EQ(ScopesIn("trace.json"), run.printed);
}

}  // namespace
}  // namespace ferret
