// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that is linked to Ferret and says nothing about sessions, under the variables that a user sets.

#include <gtest/gtest.h>

#include <string>

#include "tests/session/program_runs.h"

namespace ferret {
namespace {

class Autostart : public ProgramRuns {};

TEST_F(Autostart, DoesNothingWithoutFerretExport) {
  const ProgramRun unset = Run("", "count_threads");
  EXPECT_EQ(unset.status, 7);
  EXPECT_EQ(unset.err, "");
  EXPECT_EQ(unset.files, Files{});
  const ProgramRun empty = Run("FERRET_EXPORT= FERRET_CLOCK=nonsense FERRET_NONSENSE=1", "count_threads");
  EXPECT_EQ(empty.status, 7);
  EXPECT_EQ(empty.err, "");
  EXPECT_EQ(empty.files, Files{});
  EXPECT_EQ(empty.printed, unset.printed);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  // Sanitizers have threads of their own. Ferret's are the drain's and the exporter's.
  EXPECT_EQ(unset.printed, 1);
  EXPECT_EQ(Run(ToFile(), "count_threads").printed, 3);
#endif
}

TEST_F(Autostart, LeavesACompleteTraceWhenMainReturns) {
  const ProgramRun run = Run(ToFile(), "return");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.files, Files{"trace.json"});
  EXPECT_EQ(run.printed, 5000);
  EXPECT_EQ(ScopesIn("trace.json"), run.printed);
}

TEST_F(Autostart, LeavesACompleteTraceOfTheQuickestProgram) {
  for (int i = 0; i < 20; ++i) {
    const ProgramRun run = Run(ToFile(), "quick");
    EXPECT_EQ(run.status, 7);
    EXPECT_EQ(run.err, "");
    ASSERT_EQ(ScopesIn("trace.json"), 1);
    std::filesystem::remove(folder_ + "/trace.json");
  }
}

TEST_F(Autostart, LeavesACompleteTraceWhenAThreadExits) {
  const ProgramRun run = Run(ToFile(), "exit_in_thread");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(ScopesIn("trace.json"), run.printed);
}

TEST_F(Autostart, RecordsExitHandlersAndIsDeafAfterwards) {
  const ProgramRun run = Run(ToFile(), "record_late");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(ScopesIn("trace.json"), run.printed);
}

TEST_F(Autostart, LeavesAValidFileWhenTheProgramAborts) {
  const ProgramRun run = Run("ulimit -c 0; " + ToFile(), "abort");
  EXPECT_EQ(run.status, 128 + 6);
  ASSERT_EQ(run.files.size(), 1u);
  EXPECT_GE(ScopesIn(run.files[0]), run.printed);
}

TEST_F(Autostart, LeavesNoFileOfAProgramThatRecordsNothing) {
  const ProgramRun run = Run(ToFile(), "nothing");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.files, Files{});
}

TEST_F(Autostart, RecordsByTheMonotonicClockIfTold) {
  const ProgramRun run = Run("FERRET_CLOCK=monotonic " + ToFile(), "return");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(ScopesIn("trace.json"), run.printed);
}

TEST_F(Autostart, SaysWhichVariableIsBadAndLeavesTheProgramAlone) {
  struct {
    const char *assignment, *name, *value, *allowed;
  } cases[] = {
      {"FERRET_BUFFER_SIZE=12q", "FERRET_BUFFER_SIZE", "12q", "128K"},
      {"FERRET_OVERFLOW=panic", "FERRET_OVERFLOW", "panic", "drop, block or grow"},
      {"FERRET_CLOCK=sundial", "FERRET_CLOCK", "sundial", "monotonic"},
      {"FERRET_STOP_DEADLINE=never", "FERRET_STOP_DEADLINE", "never", "1h"},
      {"FERRET_SCHEDULE=wait=1", "FERRET_SCHEDULE", "wait=1", "needs active="},
      {"FERRET_FORK=never", "FERRET_FORK", "never", "off or restart"},
      {"FERRET_EXPORT=telepathy", "telepathy", "telepathy", "chrome_trace"},
      {"FERRET_EXPORTERS=/no/such.so", "/no/such.so", "/no/such.so", ""},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.assignment);
    const ProgramRun run = Run(ToFile() + " " + bad.assignment, "return");
    EXPECT_EQ(run.status, 7);
    EXPECT_EQ(run.printed, 5000);
    EXPECT_EQ(run.files, Files{});
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_EQ(run.err.rfind("ferret: ", 0), 0u) << run.err;
    for (const char* part : {bad.name, bad.value, bad.allowed, "nothing is recorded"}) {
      EXPECT_NE(run.err.find(part), std::string::npos) << part << " is not in: " << run.err;
    }
  }
}

TEST_F(Autostart, WarnsOfAVariableThatDoesNotExistAndRecords) {
  const ProgramRun run = Run("FERRET_OVERFLOV=drop " + ToFile(), "quick");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(Lines(run.err), 1u);
  EXPECT_NE(run.err.find("FERRET_OVERFLOV"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("FERRET_OVERFLOW"), std::string::npos) << run.err;
  EXPECT_EQ(ScopesIn("trace.json"), 1);
}

// Of one run, as a launcher's are: two at once, then a third, and all of them want the same name.
TEST_F(Autostart, NeverOverwritesTheTraceOfAnotherProcessOfTheRun) {
  const std::string one = "FERRET_RUN_ID=one " + ToFile() + " ";
  const std::string first = one + program_ + " return >" + folder_ + ".out";
  const ProgramRun run = Run("sh -c '" + first + " & " + first + "; wait'; " + one, "return");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.files.size(), 3u);
  for (const std::string& file : run.files) EXPECT_EQ(ScopesIn(file), 5000) << file;
}

}  // namespace
}  // namespace ferret
