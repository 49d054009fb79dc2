// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A system that has not got what Ferret needs.

#include <gtest/gtest.h>

#include "tests/session/program_runs.h"

namespace ferret {
namespace {

class Starved : public ProgramRuns {};

// The stack of a thread is larger than the address space that the program may use.
TEST_F(Starved, OfThreadsTheProgramRunsUnrecorded) {
  const ProgramRun run = Run("ulimit -s 4000000; ulimit -v 2000000; " + ToFile(), "quick");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.printed, 1);
  EXPECT_NE(run.err.find("ferret: no thread could be started; nothing is recorded\n"), std::string::npos) << run.err;
  EXPECT_EQ(run.files, Files{});
}

TEST_F(Starved, OfMemoryForItsBufferTheProgramRunsUnrecorded) {
  const ProgramRun run = Run("ulimit -v 2000000; FERRET_BUFFER_SIZE=8G " + ToFile(), "quick");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.printed, 1);
  EXPECT_EQ(Lines(run.err), 1u) << run.err;
  EXPECT_NE(run.err.find("FERRET_BUFFER_SIZE"), std::string::npos) << run.err;
  EXPECT_EQ(run.files, Files{});
}

}  // namespace
}  // namespace ferret
