// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A line for a person does nothing to the program, whatever has become of standard error.

#include "runtime/threads/stderr_line.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

namespace ferret {
namespace {

class StderrLine : public testing::Test {
 protected:
  StderrLine() : before_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_), 0);
    dup2(ends_[1], STDERR_FILENO);
  }
  ~StderrLine() override {
    dup2(before_, STDERR_FILENO);
    for (const int file : {before_, ends_[0], ends_[1]}) close(file);
  }

  const int before_;
  int ends_[2];
};

TEST_F(StderrLine, IsOneLineWithTheNameInFront) {
  WriteStderrLine("nothing is recorded");
  char text[64];
  const ssize_t size = read(ends_[0], text, sizeof(text));
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(size)), "ferret: nothing is recorded\n");
}

TEST_F(StderrLine, EndsNoProgramWhoseReaderWentAway) {
  signal(SIGPIPE, SIG_DFL);
  dup2(before_, ends_[0]);  // the pipe has no reader any more
  errno = 77;
  WriteStderrLine("nobody reads this");
  EXPECT_EQ(errno, 77);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace ferret
