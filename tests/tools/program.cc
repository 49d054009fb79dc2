// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/tools/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ferret {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(&string[0]);
  pointers.push_back(nullptr);
  return pointers;
}

// One read; false at the end of the file.
bool ReadMore(int file, std::string* text) {
  char buffer[4096];
  const ssize_t count = read(file, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                 const std::string& input) {
  std::vector<std::string> argv = arguments;
  std::vector<std::string> env = environment;
  const std::string deadline = "FERRET_STOP_DEADLINE=";
  if (std::none_of(env.begin(), env.end(), [&](const std::string& own) { return own.rfind(deadline, 0) == 0; })) {
    env.push_back(deadline + "50s");
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(environment.begin(), environment.end(),
                                      [&](const std::string& ours) { return ours.rfind(name, 0) == 0; });
    if (!replaced && text.rfind("FERRET_", 0) != 0 && name != "LD_PRELOAD=") env.push_back(text);
  }
  std::vector<char*> argv_pointers = Pointers(argv);
  std::vector<char*> env_pointers = Pointers(env);

  int in[2];
  int out[2];
  int err[2];
  // Inputs are small: they fit into the pipe.
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ||
      write(in[1], input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
    abort();
  }
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    // Many are killed, and a core of each would fill the disk.
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execvpe(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    _exit(99);
  }
  for (int end : {in[0], in[1], out[1], err[1]}) close(end);
  out_ = out[0];
  err_ = err[0];
}

Program::~Program() {
  close(out_);
  close(err_);
}

bool Program::Lives() const {
  siginfo_t info;
  info.si_pid = 0;
  // Left for Wait. A zombie still has its pid, so kill(pid, 0) tells nothing.
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

std::string Program::ReadLine() {
  std::string line;
  char c = '\0';
  while (c != '\n' && read(out_, &c, 1) == 1) line.push_back(c);
  return line;
}

Outcome Program::Wait() {
  Outcome outcome;
  pollfd files[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (poll(files, 2, -1) < 0) continue;
    if (files[0].revents != 0 && !ReadMore(out_, &outcome.out)) files[0].fd = -1;
    if (files[1].revents != 0 && !ReadMore(err_, &outcome.err)) files[1].fd = -1;
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(getenv("TEST_TMPDIR") == nullptr ? "/tmp" : getenv("TEST_TMPDIR")) {}

TemporaryFolder::TemporaryFolder(const std::string& place) : path_(place + "/folder-XXXXXX") {
  if (mkdtemp(&path_[0]) == nullptr) abort();
  path_ = std::filesystem::canonical(path_).string();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string DataFile(const std::string& path) { return std::filesystem::absolute(path).string(); }

}  // namespace ferret
