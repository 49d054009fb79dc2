// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Ends of a process that only Ferret's own threads can see, and those in which others are in a hurry.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

// A process that does not end is killed after a while.
Outcome RunEnding(const std::string& how, bool preload) {
  std::vector<std::string> environment;
  if (preload) environment.push_back("LD_PRELOAD=" + DataFile("adapters/torch/preload/libferret_preload.so"));
  return RunProgram({"/usr/bin/timeout", "-s", "KILL", "120", DataFile("tests/process/end_program"), how}, environment);
}

TEST(End, OfAllThreadsAfterTheSessionEndsTheProcessThoughAThreadWaitsForExit) {
  const Outcome outcome = RunEnding("stopped", true);
  EXPECT_EQ(outcome.exit_status, 0) << "signal " << outcome.signal;
  EXPECT_EQ(outcome.out, "closed\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(End, OfAllThreadsEndsTheProcessThoughAnAbandonedExporterHangs) {
  const Outcome outcome = RunEnding("abandoned", false);
  EXPECT_EQ(outcome.exit_status, 0) << "signal " << outcome.signal;
  EXPECT_EQ(outcome.out, "");
}

// Such as that of a library that an exporter has loaded.
TEST(End, OfTheSessionComesBeforeExitHandlersThatWereMadeWhenAnExporterWasOpened) {
  const Outcome outcome = RunEnding("late_handler", false);
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.out, "closed\nhandler\n");
}

TEST(End, ByExitOfTwoThreadsAtOnceCutsNoOutputShort) {
  const Outcome outcome = RunEnding("two_exits", true);
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.out, "closed\n");
}

}  // namespace
}  // namespace ferret
