// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FERRET_FORK=restart: forked children record into files of their own. And children of other kinds, under both policies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/session/program_runs.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ForkRestart : public ProgramRuns {
 protected:
  ForkRestart() { program_ = "tests/session/fork_program"; }

  // What an exporter loses is not in the counts here, and disks may stand still for seconds.
  static constexpr const char* kAlways = "FERRET_EXPORTER_QUEUE=1G ";

  ProgramRun RunForking(const std::string& how, const std::string& variables = "FERRET_FORK=restart") {
    return Run(kAlways + ("FERRET_LOG=info " + variables) + " " + ToFile(), how);
  }

  // How many scopes the children's traces have, in order. Expects the parent's trace to have what it printed.
  std::vector<int> Children(const ProgramRun& run) {
    EXPECT_EQ(run.status, 7) << run.err;
    std::vector<int> scopes;
    for (const std::string& file : run.files) {
      if (file == "trace.json") {
        EXPECT_EQ(ScopesIn(file), run.printed);
      } else {
        EXPECT_TRUE(std::all_of(file.begin() + 6, file.end() - 5, isdigit)) << file << "\n" << run.err;
        scopes.push_back(ScopesIn(file));
      }
    }
    EXPECT_EQ(std::count(run.files.begin(), run.files.end(), "trace.json"), 1) << run.err;
    std::sort(scopes.begin(), scopes.end());
    return scopes;
  }

  void Clear() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry);
  }

  // So many forks in a storm.
  static int Forks() {
    const char* const forks = getenv("FORKS_IN_A_STORM");
    return forks != nullptr ? atoi(forks) : 100;
  }

  std::string CrashDir() const { return " FERRET_BUFFER_SIZE=2M FERRET_CRASH_DIR=" + crash_folder_.path(); }
  int CrashFiles() const {
    const std::filesystem::directory_iterator files(crash_folder_.path());
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  const TemporaryFolder crash_folder_;
};

void PrintStorm(const std::string& policy, int forks, const ProgramRun& run) {
  std::printf("FIGURE: storm of forks: FERRET_FORK=%s: %d forks beside 4 threads; %d scopes of the parent's, none missing\n",
              policy.c_str(), forks, run.printed);
}

TEST_F(ForkRestart, GivesEachChildAWholeTraceOfItsOwn) {
  EXPECT_THAT(Children(RunForking("children 4 exit")), ElementsAre(2, 4, 6, 8));
}

// What the program asks for in vain changes nothing.
TEST_F(ForkRestart, AChildThatCouldNotStartASessionOfItsOwnRecordsAsItWouldHave) {
  EXPECT_THAT(Children(RunForking("children 2 bad_start")), ElementsAre(2, 4));
}

TEST_F(ForkRestart, GivesChildrenTheNameThatAsksForThePid) {
  const ProgramRun run = Run(kAlways + ("FERRET_FORK=restart FERRET_EXPORT=chrome_trace:" + folder_) + "/of-%p.json", "children 2 exit");
  ASSERT_EQ(run.files.size(), 3u);
  std::vector<int> scopes;
  for (const std::string& file : run.files) {
    scopes.push_back(ScopesIn(file));
    EXPECT_EQ(std::count(file.begin(), file.end(), '-'), 1) << file;
  }
  EXPECT_THAT(scopes, testing::UnorderedElementsAre(run.printed, 2, 4));
}

TEST_F(ForkRestart, LosesNothingOfAChildThatStopsOrHasFlushedBeforeItLeavesAtOnce) {
  EXPECT_THAT(Children(RunForking("children 2 stop")), ElementsAre(2, 4));
  Clear();
  const ProgramRun flushed = RunForking("children 2 flush");
  EXPECT_EQ(flushed.status, 7) << flushed.err;
  ASSERT_EQ(flushed.files.size(), 3u);
  std::vector<int> scopes;
  for (const std::string& file : flushed.files) {
    if (file == "trace.json") continue;
    EXPECT_NE(file.find(".json.tmp"), std::string::npos) << "it left without finishing the file";
    scopes.push_back(ScopesIn(file));
  }
  EXPECT_THAT(scopes, testing::UnorderedElementsAre(2, 4));
}

TEST_F(ForkRestart, LeavesNothingOfChildrenThatRecordNothing) {
  const ProgramRun run = RunForking("children 3 silent", "FERRET_FORK=restart" + CrashDir());
  EXPECT_THAT(Children(run), IsEmpty());
  EXPECT_EQ(CrashFiles(), 0);
}

TEST_F(ForkRestart, GoesOnInChildrenOfChildren) {
  EXPECT_THAT(Children(RunForking("descend 4")), ElementsAre(2, 3, 4));
}

TEST_F(ForkRestart, LeavesScopesThatTheParentBeganToTheParent) {
  EXPECT_THAT(Children(RunForking("open 0")), ElementsAre(2));
}

TEST_F(ForkRestart, LetsAChildStopAndStartAsItLikes) {
  const ProgramRun run = RunForking("session 0 " + folder_ + "/own.json");
  EXPECT_EQ(run.status, 7) << run.err;
  ASSERT_EQ(run.files.size(), 2u);
  EXPECT_EQ(run.files[0].rfind("own-", 0), 0u) << run.files[0];
  EXPECT_EQ(ScopesIn(run.files[0]), 6);
  EXPECT_EQ(ScopesIn("trace.json"), 1);
}

TEST_F(ForkRestart, InCrashModeNeitherTouchesNorRemovesTheParentsFile) {
  EXPECT_THAT(Children(RunForking("children 3 exit", "FERRET_FORK=restart" + CrashDir())), ElementsAre(2, 4, 6));
  EXPECT_EQ(CrashFiles(), 0);
}

TEST_F(ForkRestart, AChildKnowsItsNamesAlsoWhereTheParentHasStopped) {
  EXPECT_THAT(Children(RunForking("outlived 3")), ElementsAre(3));
  Clear();
  EXPECT_THAT(Children(RunForking("outlived 3", "FERRET_FORK=restart" + CrashDir())), ElementsAre(3));
}

TEST_F(ForkRestart, AChildKnowsItsNamesAlsoWhereTheParentsDescriptorsWereClosed) {
  const ProgramRun run = RunForking("closed 3", "FERRET_FORK=restart" + CrashDir());
  EXPECT_EQ(run.status, 7) << run.err;
  std::vector<std::string> whole;
  for (const std::string& file : run.files) {
    if (file != "trace.json.tmp") whole.push_back(file);
  }
  ASSERT_THAT(whole, testing::SizeIs(1)) << run.err;
  EXPECT_EQ(ScopesIn(whole[0]), 3);
}

TEST_F(ForkRestart, AVforkedChildIsItsParentsThread) {
  // More than a chunk: the child passes the cold path, too.
  for (const char* policy : {"FERRET_FORK=off", "FERRET_FORK=restart"}) {
    EXPECT_THAT(Children(RunForking("vfork 5000", policy)), IsEmpty());
    Clear();
    EXPECT_THAT(Children(RunForking("vfork 5000", policy + CrashDir())), IsEmpty());
    Clear();
  }
}

TEST_F(ForkRestart, AVforkedChildCannotBeTheFirstOfItsThreadToRecord) {
  EXPECT_THAT(Children(RunForking("vfork_first 10", "FERRET_FORK=off")), IsEmpty());
}

// Detected when its first chunk is full. Nothing is promised in crash mode, where the chunk is the parent's.
TEST_F(ForkRestart, AChildByTheCloneSystemCallFallsSilentAndHarmsNothing) {
  for (const char* policy : {"FERRET_FORK=off", "FERRET_FORK=restart"}) {
    EXPECT_THAT(Children(RunForking("raw 10000 exit", policy)), IsEmpty());
    Clear();
    EXPECT_THAT(Children(RunForking("raw 10000 _exit", policy)), IsEmpty());
    Clear();
  }
}

TEST_F(ForkRestart, StormWhileThreadsRecordLeavesTheParentExactAndChildrenWhole) {
  const ProgramRun run = RunForking("storm " + std::to_string(Forks()) + " restart");
  EXPECT_EQ(Children(run), std::vector<int>(static_cast<size_t>(Forks()), 3));
  PrintStorm("restart", Forks(), run);
}

TEST_F(ForkRestart, StormWithChildrenOffLeavesTheParentExact) {
  const ProgramRun run = RunForking("storm " + std::to_string(Forks()) + " off", "FERRET_FORK=off");
  EXPECT_THAT(Children(run), IsEmpty());
  PrintStorm("off", Forks(), run);
}

TEST_F(ForkRestart, StormInCrashModeLeavesTheParentExact) {
  for (const char* policy : {"off", "restart"}) {
    const ProgramRun run =
        RunForking(std::string("storm 20 ") + policy, std::string("FERRET_FORK=") + policy + CrashDir());
    EXPECT_EQ(Children(run), std::vector<int>(policy == std::string("off") ? 0 : 20, 3));
    EXPECT_EQ(CrashFiles(), 0);
    PrintStorm(policy + std::string(" and a crash file"), 20, run);
    Clear();
  }
}

}  // namespace
}  // namespace ferret
