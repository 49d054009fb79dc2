// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Libraries that record and are unloaded, Ferret itself among them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/process/scopes_in.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

const std::string kFerret = DataFile("libferret.so");
const std::string kPlug = DataFile("tests/process/libplug.so");
const std::string kOwnCopy = DataFile("tests/process/libown_copy.so");

class Unload : public testing::Test {
 protected:
  Outcome Run(std::vector<std::string> arguments, bool exports = true) {
    arguments.insert(arguments.begin(), DataFile("tests/process/loads_program"));
    std::vector<std::string> environment = {"LD_LIBRARY_PATH=" + kFerret.substr(0, kFerret.rfind('/')), "FERRET_STOP_DEADLINE=50s"};
    if (exports) environment.push_back("FERRET_EXPORT=chrome_trace:" + trace_);
    const Outcome outcome = RunProgram(arguments, environment);
    EXPECT_EQ(outcome.exit_status, 7) << "signal " << outcome.signal << ": " << outcome.out;
    EXPECT_EQ(outcome.err, "");
    return outcome;
  }

  const TemporaryFolder folder_;
  const std::string trace_ = folder_ / "trace.json";
};

TEST_F(Unload, OfALibraryLeavesItsNamesAndWhatItRecorded) {
  EXPECT_EQ(Run({"open", kPlug, "thread", "10", "close"}).out, "unloaded\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"plug", 10}, {"plug thread_local", 1}}));
}

TEST_F(Unload, AndLoadingAgainRegistersTheSitesAgainUnderTheSameNames) {
  const Outcome outcome =
      Run({"open", kPlug, "thread", "10", "close", "open", kPlug, "thread", "20", "close", "open", kPlug, "thread", "30"});
  EXPECT_EQ(outcome.out, "unloaded\nunloaded\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"plug", 60}, {"plug thread_local", 3}}));
}

// The loader keeps a library while destructors of its thread_locals are still to run.
TEST_F(Unload, OfALibraryWhoseThreadsLiveOnRecordsTheirDestructors) {
  EXPECT_EQ(Run({"open", kPlug, "hold", "5", "hold", "5", "close", "release"}).out, "stays\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"plug", 10}, {"plug thread_local", 2}}));
}

TEST_F(Unload, OfFerretItselfWhileItRecordsDoesNothing) {
  EXPECT_EQ(Run({"open", kFerret, "record", "10", "hold", "1", "close", "record", "20", "thread", "30", "release"}).out,
            "stays\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"from libferret", 61}}));
}

TEST_F(Unload, OfFerretThatDoesNotRecordDoesNothing) {
  EXPECT_EQ(Run({"open", kFerret, "record", "10", "close", "record", "10", "open", kFerret, "record", "10"}, false).out,
            "stays\n");
  EXPECT_EQ(ReadFile(trace_), "");
}

// Its threads, the thread-exit hook and the handlers at exit and fork would run into nothing.
TEST_F(Unload, OfALibraryWithItsOwnCopyOfFerretDoesNothingOnceThatHasRecorded) {
  EXPECT_EQ(Run({"open", kOwnCopy, "thread", "10", "close", "thread", "20"}).out, "stays\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"own_copy", 30}, {"own_copy thread_local", 2}}));
}

TEST_F(Unload, OfALibraryWithItsOwnCopyOfFerretThatNeverRecordedUnloadsBoth) {
  EXPECT_EQ(Run({"open", kOwnCopy, "thread", "10", "close", "open", kOwnCopy, "thread", "1"}, false).out,
            "unloaded\n");
}

}  // namespace
}  // namespace ferret
