// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a program in a process test and tells how it ended and what it printed.

#ifndef FERRET_TESTS_TOOLS_PROGRAM_H_
#define FERRET_TESTS_TOOLS_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace ferret {

struct Outcome {
  int exit_status = -1;  // -1 if a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

// A program with pipes for its three streams, in a process group of its own as a shell makes for a job.
class Program {
 public:
  // `environment` is added to this process's ("NAME=value"), from which every FERRET_* and LD_PRELOAD are left out. Unless
  // it says otherwise, sessions have 50 s to stop: disks may stand still.
  Program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
          const std::string& input = "");
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it has not ended; who waits for something that it does looks at this, too.
  bool Lives() const;
  // Reads standard output up to and with the next '\n'; what was read is not part of the outcome any more.
  std::string ReadLine();
  // Waits for the end of the program and of everything that holds its streams.
  Outcome Wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

inline Outcome RunProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
                          const std::string& input = "") {
  return Program(arguments, environment, input).Wait();
}

// A fresh folder, removed with all that is in it at the end of the scope. Absolute and without links. It is where tests
// write, or at another place.
class TemporaryFolder {
 public:
  TemporaryFolder();
  explicit TemporaryFolder(const std::string& place);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The whole text of a file; empty if there is none.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

// The absolute path of a file that the test has as data, by its path from the root of the source tree.
std::string DataFile(const std::string& path);

}  // namespace ferret

#endif  // FERRET_TESTS_TOOLS_PROGRAM_H_
