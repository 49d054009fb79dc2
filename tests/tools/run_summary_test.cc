// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/run_summary.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;

constexpr char kRun[] = "68-this-run";

RunReport Closed(const std::vector<RunReport::Closed>& closed) { return RunReport{{}, closed}; }

TEST(RunSummary, NothingReportedIsSaid) { EXPECT_THAT(FinishRun({}, kRun), ElementsAre("nothing was recorded")); }

TEST(RunSummary, OneTrace) {
  EXPECT_THAT(FinishRun(Closed({{1, 1, 0, "a"}}), kRun), ElementsAre("a: 1 event, none lost"));
  EXPECT_THAT(FinishRun(Closed({{1, 10, 2, "a"}}), kRun), ElementsAre("a: 10 events, 2 lost"));
}

TEST(RunSummary, EventsOfAProcessWithTwoExportersCountOnce) {
  EXPECT_THAT(FinishRun(Closed({{1, 10, 0, "a"}, {1, 10, 4, "b"}, {2, 1, 1, "c"}}), kRun),
              ElementsAre("3 outputs: a, b, c: 11 events, 5 lost"));
}

TEST(RunSummary, ManyTracesStayOneLine) {
  RunReport report;
  for (int pid = 1; pid <= 64; ++pid) report.closed.push_back({pid, 1, 0, "t" + std::to_string(pid)});
  EXPECT_THAT(FinishRun(report, kRun), ElementsAre("64 outputs: t1, t2, t3, t4 and 60 more: 64 events, none lost"));
}

TEST(RunSummary, ADestinationThatProcessesShareIsOne) {
  EXPECT_THAT(FinishRun(Closed({{1, 1, 0, "http://host"}, {2, 1, 0, "http://host"}}), kRun),
              ElementsAre("http://host: 2 events, none lost"));
}

TEST(RunSummary, AProcessWithoutOutputIsNoTrace) {
  EXPECT_THAT(FinishRun(Closed({{1, 0, 0, ""}}), kRun), ElementsAre("nothing was recorded"));
}

TEST(RunSummary, FilesOfKilledProcessesGetTheirNames) {
  TemporaryFolder folder;
  WriteFile(folder / "a.tmp", "a");
  WriteFile(folder / "b.tmp", "b");
  RunReport report;
  report.opened = {{1, folder / "a.tmp", folder / "a"},
                   {1, folder / "a.tmp", folder / "a"},
                   {1, folder / "finished.tmp", folder / "finished"},
                   {2, folder / "b.tmp", folder / "b"}};
  report.closed = {{3, 1, 0, "c"}};
  EXPECT_THAT(FinishRun(report, kRun),
              ElementsAre("c: 1 event, none lost", "2 outputs: " + (folder / "a") + ", " + (folder / "b") +
                                                       ": cut short, the process was killed"));
  EXPECT_EQ(ReadFile(folder / "a"), "a");
}

TEST(RunSummary, FilesOfLivingProcessesAreNamed) {
  TemporaryFolder folder;
  WriteFile(folder / "a.tmp", "a");
  const int writer = open((folder / "a.tmp").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  RunReport report;
  report.opened = {{1, folder / "a.tmp", folder / "a"}};
  EXPECT_THAT(FinishRun(report, kRun), ElementsAre(folder / "a.tmp" + ": still being written"));
  close(writer);
}

TEST(RunSummary, PathsInTheCurrentFolderAreShownRelative) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(FinishRun(Closed({{1, 1, 0, here + "/t\n.json"}}), kRun), ElementsAre("t\\n.json: 1 event, none lost"));
}

}  // namespace
}  // namespace ferret
