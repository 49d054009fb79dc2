// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The driver finds faults that were put where chance does not lead, says which input shows them, and is the same in every
// run. Without this "0 findings" would say nothing.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

class Driver : public ::testing::Test {
 protected:
  Outcome Run(const std::string& fault, const std::vector<std::string>& options = {},
              const std::string& seed = "000000000000") {
    WriteFile(folder_ / "seed", seed);
    std::vector<std::string> arguments = {DataFile("tests/fuzz/planted_faults"), "-runs=200000",
                                          "-artifact_prefix=" + folder_.path()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back(folder_ / "seed");
    return RunProgram(arguments, {"PLANTED_FAULT=" + fault});
  }
  // The input that the driver wrote.
  std::string Finding(const Outcome& outcome) {
    const std::string mark = "the input is in ";
    const size_t at = outcome.err.find(mark);
    if (at == std::string::npos) return "";
    const size_t from = at + mark.size();
    return ReadFile(outcome.err.substr(from, outcome.err.find('\n', from) - from));
  }
  void ExpectFinding(const std::string& fault, const std::string& what, const std::vector<std::string>& options = {}) {
    const Outcome outcome = Run(fault, options);
    EXPECT_NE(outcome.exit_status, 0) << outcome.out;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
    // What was found shows it again, alone.
    const std::string input = Finding(outcome);
    ASSERT_FALSE(input.empty()) << outcome.err;
    const Outcome again = Run(fault, {"-runs=0"}, input);
    EXPECT_NE(again.exit_status, 0);
    EXPECT_NE(again.err.find(what), std::string::npos) << again.err;
  }

  TemporaryFolder folder_;
};

TEST_F(Driver, FindsWhatIsBehindTwoNumbersThatNoChanceMeets) { ExpectFinding("abort", "Aborted"); }

TEST_F(Driver, FindsWorkThatTheInputDoesNotExplain) { ExpectFinding("work", "more work"); }

TEST_F(Driver, FindsMemoryThatTheInputDoesNotExplain) { ExpectFinding("memory", "more memory"); }

TEST_F(Driver, FindsMemoryThatIsLeftBehind) { ExpectFinding("leak", "of memory behind"); }

TEST_F(Driver, FindsAWrongAddress) { ExpectFinding("segment", "FINDING"); }

TEST_F(Driver, FindsAWordOfTheDictionary) {
  ExpectFinding("dictionary", "Aborted", {"-dict=" + DataFile("tests/fuzz/planted_faults.dict")});
}

TEST_F(Driver, IsTheSameInEveryRun) {
  // Without its time, which is what follows the last "; ".
  const auto figures = [this](const std::string& option) {
    const Outcome outcome = Run("none", {"-runs=5000", option});
    EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.rfind("; "));
  };
  EXPECT_EQ(figures("-seed=3"), figures("-seed=3"));
  EXPECT_NE(figures("-seed=3").find(" executions"), std::string::npos) << figures("-seed=3");
}

TEST_F(Driver, KeepsTheFewestInputsThatReachEverything) {
  const std::string kept = folder_ / "kept";
  // A fault that is not found without the dictionary.
  const Outcome found = Run("dictionary", {"-runs=1000", "-smallest=" + kept});
  ASSERT_EQ(found.exit_status, 0) << found.err;
  const auto edges = [](const Outcome& outcome) {
    const size_t end = outcome.out.find(" edges");
    return outcome.out.substr(outcome.out.rfind(' ', end - 1), end - outcome.out.rfind(' ', end - 1));
  };
  const Outcome again = Run("dictionary", {"-runs=0", kept});
  ASSERT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(edges(found), edges(again)) << found.out << again.out;
}

TEST_F(Driver, SaysWhatIsWrongWithItsArguments) {
  EXPECT_EQ(Run("none", {"-runs=many"}).exit_status, 2);
  EXPECT_EQ(Run("none", {"-unknown=1"}).exit_status, 2);
  EXPECT_EQ(Run("none", {folder_ / "nothing"}).exit_status, 2);
  WriteFile(folder_ / "dictionary", "word\n");
  const Outcome outcome = Run("none", {"-dict=" + (folder_ / "dictionary")});
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_NE(outcome.err.find("line 1 of the dictionary"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace ferret
