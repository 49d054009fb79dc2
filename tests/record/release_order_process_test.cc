// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The proof that ThreadSanitizer, with the suppressions that this project has, would notice a recording path that
// publishes its records wrongly.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

struct Result {
  int status = -1;
  std::string output;
};

Result RunProgram(const std::string& name) {
  Result result;
  const std::string command = "tests/record/" + name + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char part[4096];
  while (const size_t count = fread(part, 1, sizeof(part), pipe)) result.output.append(part, count);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

TEST(ReleaseOrder, TheProgramRunsSilently) {
  const Result result = RunProgram("release_order_program");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(result.output.find("WARNING"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("read "), std::string::npos) << result.output;
}

TEST(ReleaseOrder, ARelaxedWriteOffsetIsReportedByThreadSanitizer) {
  if (!kUnderTsan) GTEST_SKIP() << "only ThreadSanitizer sees it";
  const Result result = RunProgram("release_order_weakened_program");
  EXPECT_EQ(result.status, 66) << result.output;  // its exit code
  EXPECT_NE(result.output.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace ferret::internal
