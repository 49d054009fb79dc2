// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines for people are written on the host's threads, too. Where nobody can read them, that must not end the program, which
// a write to a closed pipe, or to a file that is as large as files may be, does by default.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

class UnreadableStderr : public testing::Test {
 protected:
  TemporaryFolder folder_;

  // Runs the program with that as standard error; returns how it ended, as waitpid says.
  int Run(int standard_error, const std::vector<std::string>& variables, rlim_t largest_file = RLIM_INFINITY) {
    const std::string program = DataFile("tests/disk/disk_program");
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGPIPE, SIG_DFL);
      signal(SIGXFSZ, SIG_DFL);
      for (const std::string& variable : variables) putenv(strdup(variable.c_str()));
      const rlimit limit{largest_file, RLIM_INFINITY};
      setrlimit(RLIMIT_FSIZE, &limit);
      dup2(null, STDOUT_FILENO);
      dup2(standard_error, STDERR_FILENO);
      execl(program.c_str(), program.c_str(), "10", nullptr);
      _exit(99);
    }
    close(null);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  // What makes it say something: at the start, in the middle, at the end.
  const std::vector<std::vector<std::string>> kReasons = {
      {"FERRET_EXPORT=nonsense"},
      {"FERRET_EXPORT=chrome_trace:/proc/none/t.json"},
      {"FERRET_EXPORT=chrome_trace:" + (folder_ / "t.json"), "FERRET_LOG=info"},
      {"FERRET_EXPORT=chrome_trace:" + (folder_ / "t.json"), "FERRET_CRASH_DIR=/none"},
      {"FERRET_EXPORT=chrome_trace:" + (folder_ / "t.json"), "RANK=nonsense"},
      {"FERRET_EXPORT=chrome_trace:" + (folder_ / "t.json"), "FERRET_RUN_REPORT=" + (folder_ / "report")},
  };
};

TEST_F(UnreadableStderr, ThatIsAPipeWithoutAReaderEndsNoProgram) {
  for (const std::vector<std::string>& variables : kReasons) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    const int status = Run(ends[1], variables);
    close(ends[1]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << variables.back() << ": " << status;
  }
}

TEST_F(UnreadableStderr, ThatIsAFileWhichMayNotGrowEndsNoProgram) {
  WriteFile(folder_ / "report", "");
  for (const std::vector<std::string>& variables : kReasons) {
    const int file = open((folder_ / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int status = Run(file, variables, 0);
    close(file);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << variables.back() << ": " << status;
  }
}

}  // namespace
}  // namespace ferret
