// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/run_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace ferret {
namespace {

class RunReportFile : public ::testing::Test {
 protected:
  RunReportFile() : path_(::testing::TempDir() + "/report-" + std::to_string(getpid())) { std::ofstream file(path_); }
  ~RunReportFile() override { std::filesystem::remove(path_); }

  RunReport Read() const {
    std::ifstream file(path_);
    return ParseRunReport(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  }

  const std::string path_;
};

TEST_F(RunReportFile, WhatIsAppendedIsReadBack) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  ASSERT_TRUE(ReportOpened(path_, "/t.tmp", "/" + every_byte).ok());
  ASSERT_TRUE(ReportClosed(path_, 12, 3, every_byte).ok());
  ASSERT_TRUE(ReportClosed(path_, 0, 0, "").ok());
  const RunReport report = Read();
  ASSERT_EQ(report.opened.size(), 1u);
  EXPECT_EQ(report.opened[0].pid, getpid());
  EXPECT_EQ(report.opened[0].temporary_path, "/t.tmp");
  EXPECT_EQ(report.opened[0].final_path, "/" + every_byte);
  ASSERT_EQ(report.closed.size(), 2u);
  EXPECT_EQ(report.closed[0].pid, getpid());
  EXPECT_EQ(report.closed[0].events, 12u);
  EXPECT_EQ(report.closed[0].lost, 3u);
  EXPECT_EQ(report.closed[0].destination, every_byte);
  EXPECT_EQ(report.closed[1].destination, "");
}

TEST_F(RunReportFile, RelativePathsAreMadeAbsolute) {
  ASSERT_TRUE(ReportOpened(path_, "t.tmp", "t").ok());
  EXPECT_EQ(Read().opened[0].final_path, std::filesystem::current_path().string() + "/t");
}

TEST_F(RunReportFile, LinesOfManyWritersDoNotMix) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] {
      for (int j = 0; j < 100; ++j) EXPECT_TRUE(ReportClosed(path_, 1, 0, std::string(5000, 'x')).ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Read().closed.size(), 800u);
}

TEST(RunReport, WithoutAReportNothingHappens) {
  EXPECT_TRUE(ReportOpened("", "a", "b").ok());
  EXPECT_TRUE(ReportClosed("", 1, 2, "a").ok());
}

TEST(RunReport, AReportThatIsGoneIsNotMadeAgain) {
  const std::string path = ::testing::TempDir() + "/gone";
  EXPECT_FALSE(ReportClosed(path, 1, 2, "a").ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RunReport, ForeignLinesAreSkipped) {
  for (const char* text : {"", "\n\n", "x", "1\topen\ta", "1\topen\ta\tb\tc", "0\topen\ta\tb", "-1\topen\ta\tb",
                           "1\tclose\tx\t0\ta", "1\tclose\t1\t-1\ta", "1\tclose\t1\t1", "1\topen\t\\x\tb",
                           "1\tother\t1\t1\ta", "99999999999\tclose\t1\t1\ta"}) {
    const RunReport report = ParseRunReport(text);
    EXPECT_TRUE(report.opened.empty() && report.closed.empty()) << text;
  }
  EXPECT_EQ(ParseRunReport("garbage\n1\topen\ta\tb\ngarbage").opened.size(), 1u);
}

}  // namespace
}  // namespace ferret
