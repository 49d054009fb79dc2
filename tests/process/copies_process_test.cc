// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Several copies of Ferret in one process: one records, the others say that they do not.

#include <gmock/gmock.h>
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
const std::string kOtherCopy = DataFile("tests/process/libother_copy.so");

std::string Line(const std::string& recording, const std::string& off) {
  return "this process has two copies of Ferret: the one in " + recording + " records, the one in " + off + " is off";
}

class Copies : public testing::Test {
 protected:
  Outcome Run(const std::string& program, std::vector<std::string> arguments, bool exports = true,
              const std::string& more = "FERRET_LOG=") {
    arguments.insert(arguments.begin(), DataFile("tests/process/" + program));
    std::vector<std::string> environment = {"LD_LIBRARY_PATH=" + kFerret.substr(0, kFerret.rfind('/')), "FERRET_STOP_DEADLINE=50s", more};
    if (exports) environment.push_back("FERRET_EXPORT=chrome_trace:" + trace_);
    const Outcome outcome = RunProgram(arguments, environment);
    EXPECT_EQ(outcome.exit_status, 7) << "signal " << outcome.signal << ": " << outcome.out;
    return outcome;
  }

  const TemporaryFolder folder_;
  const std::string trace_ = folder_ / "trace.json";
};

TEST_F(Copies, InTwoLibrariesTheFirstOneRecords) {
  const Outcome outcome = Run("loads_program", {"open", kOwnCopy, "record", "10", "open", kOtherCopy, "record", "20",
                                                "open", kOwnCopy, "thread", "10"});
  EXPECT_EQ(outcome.err, "ferret: " + Line(kOwnCopy, kOtherCopy) + "\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"own_copy", 20}, {"own_copy thread_local", 2}}));
}

TEST_F(Copies, InALibraryAfterTheSharedOneAreOff) {
  const Outcome outcome = Run("loads_program", {"open", kPlug, "record", "10", "open", kOwnCopy, "record", "20"});
  EXPECT_EQ(outcome.err, "ferret: " + Line(kFerret, kOwnCopy) + "\n");
  EXPECT_EQ(ScopesIn(trace_).at("plug"), 10);
  EXPECT_EQ(ScopesIn(trace_).count("own_copy"), 0u);
}

TEST_F(Copies, InALibraryBeforeTheSharedOneRecord) {
  const Outcome outcome = Run("loads_program", {"open", kOwnCopy, "record", "10", "open", kPlug, "record", "20"});
  EXPECT_EQ(outcome.err, "ferret: " + Line(kOwnCopy, kFerret) + "\n");
  EXPECT_EQ(ScopesIn(trace_).at("own_copy"), 10);
  EXPECT_EQ(ScopesIn(trace_).count("plug"), 0u);
}

TEST_F(Copies, InTheProgramAndInALibraryThatIsLoadedLaterTheProgramRecords) {
  const Outcome outcome =
      Run("program_with_copy", {"own", "10", "open", kPlug, "record", "20", "open", kOwnCopy, "record", "30", "own", "10"});
  EXPECT_EQ(outcome.err, "ferret: " + Line("the program", kFerret) + "\nferret: " + Line("the program", kOwnCopy) + "\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"from the program", 20}}));
}

// The loader binds the library's calls to the program's copy, though the shared one comes up first.
TEST_F(Copies, InAProgramThatIsLinkedToTheSharedOneTooRecordForBoth) {
  const Outcome outcome =
      Run("program_with_copy_linked_to_plug", {"own", "10", "open", kPlug, "record", "20", "thread", "5", "own", "10"});
  EXPECT_EQ(outcome.err, "ferret: " + Line("the program", kFerret) + "\n");
  EXPECT_EQ(ScopesIn(trace_), (Scopes{{"from the program", 20}, {"plug", 25}, {"plug thread_local", 2}}));
}

TEST_F(Copies, ThatAreToldToStartSayWhyTheyCannot) {
  const std::string memory = "memory";
  const Outcome outcome = Run("loads_program",
                              {"open", kOwnCopy, "start", memory, "open", kOtherCopy, "start", memory, "record", "1"}, false);
  EXPECT_EQ(outcome.out, "start \"\"\nstart \"" + Line(kOwnCopy, kOtherCopy) + "\"\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Copies, SayNothingWhereNobodyRecordsOrWarningsAreOff) {
  const std::vector<std::string> both = {"open", kOwnCopy, "record", "1", "open", kOtherCopy, "record", "1"};
  EXPECT_EQ(Run("loads_program", both, false).err, "");
  EXPECT_EQ(Run("loads_program", both, true, "FERRET_LOG=error").err, "");
}

}  // namespace
}  // namespace ferret
