// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/separate_process.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

constexpr int kNoMemory = 100;
constexpr int kException = 101;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReservesMemory = true;
#else
constexpr bool kReservesMemory = false;
#endif

void Lower(decltype(RLIMIT_CORE) resource, uint64_t to) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, to);
  setrlimit(resource, &limit);
}

void SetLimits(const std::string& path) {
  struct stat status;
  const uint64_t size = stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(std::max<off_t>(status.st_size, 0)) : 0;
  const uint64_t megabytes = std::min(size >> 20, uint64_t{1} << 20);
  Lower(RLIMIT_CORE, 0);
  Lower(RLIMIT_CPU, 900 + 4 * megabytes);
  if (!kReservesMemory) Lower(RLIMIT_AS, (uint64_t{8} << 30) + (megabytes << 25));
}

int Work(const std::function<int(std::string*)>& work, std::string* answer) {
  try {
    return work(answer);
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception&) {
    return kException;
  }
}

bool WriteAll(int fd, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return false;
    written += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

std::string ReadAll(int fd) {
  std::string text;
  char bytes[65536];
  for (;;) {
    const ssize_t count = read(fd, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(bytes, static_cast<size_t>(count));
  }
}

}  // namespace

SeparateResult RunSeparately(const std::string& path, const std::function<int(std::string* answer)>& work) {
  SeparateResult result;
  int ends[2];
  if (pipe(ends) != 0) {
    result.failure = absl::StrCat("no pipe: ", strerror(errno));
    return result;
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    SetLimits(path);
    std::string answer;
    int status = Work(work, &answer);
    if (!WriteAll(ends[1], answer)) status = kException;
    std::fflush(nullptr);
    _exit(status);
  }
  if (child < 0) result.failure = absl::StrCat("no process: ", strerror(errno));
  close(ends[1]);
  result.answer = ReadAll(ends[0]);
  close(ends[0]);
  if (child < 0) return result;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    result.failure = absl::StrCat("reading it ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  } else if (WEXITSTATUS(status) >= kNoMemory) {
    result.failure = WEXITSTATUS(status) == kNoMemory ? "reading it takes too much memory" : "reading it failed";
  } else {
    result.status = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace ferret
