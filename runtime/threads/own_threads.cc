// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/threads/own_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <set>

namespace ferret {
namespace {

// A thread's number, and its process's: a forked child has inherited the list, and takes its parent's places. 0 is a free
// one. Relaxed: what a thread looks for is its own, or was there long before. Without a lock, which a fork could leave
// locked.
std::atomic<uint64_t> g_threads[64];

uint64_t Number(pid_t thread) { return static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(thread); }

// The system gives the number of a thread that has ended to another one.
struct Membership {
  // A thread that finds no place is taken for the program's.
  Membership() {
    for (std::atomic<uint64_t>& candidate : g_threads) {
      uint64_t held = candidate.load(std::memory_order_relaxed);
      if (held != 0 && held >> 32 == number >> 32) continue;
      if (!candidate.compare_exchange_strong(held, number, std::memory_order_relaxed)) continue;
      place = &candidate;
      return;
    }
  }
  ~Membership() {
    uint64_t own = number;
    if (place != nullptr) place->compare_exchange_strong(own, 0, std::memory_order_relaxed);
  }

  const uint64_t number = Number(static_cast<pid_t>(syscall(SYS_gettid)));
  std::atomic<uint64_t>* place = nullptr;
};

bool IsFerrets(pid_t thread) {
  return std::any_of(std::begin(g_threads), std::end(g_threads), [number = Number(thread)](const auto& member) {
    return member.load(std::memory_order_relaxed) == number;
  });
}

// A main thread that has ended before the process is a zombie.
bool MainThreadHasEnded() {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", static_cast<int>(getpid()));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = '\0';
  // "pid (name) state …", and a name may have any bytes.
  const char* const name_end = strrchr(text, ')');
  return name_end != nullptr && strncmp(name_end, ") Z", 3) == 0;
}

// Of Ferret's threads, if there are no others but the ended main thread; else empty.
std::set<pid_t> OnlyFerretsThreads() {
  std::set<pid_t> numbers;
  if (!MainThreadHasEnded()) return numbers;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return numbers;
  bool only = true;
  while (const dirent* const entry = readdir(tasks)) {
    const pid_t number = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (number == 0 || number == getpid()) continue;
    only = only && IsFerrets(number);
    numbers.insert(number);
  }
  closedir(tasks);
  if (!only) numbers.clear();
  return numbers;
}

}  // namespace

void ThisThreadIsFerrets() {
  thread_local Membership membership;
  (void)membership;
}

bool OnlyFerretsThreadsAreLeft() {
  const std::set<pid_t> first = OnlyFerretsThreads();
  if (first.empty()) return false;
  // A thread that ends when it has made the next one may be in no list, but not each time.
  const timespec pause = {0, 100'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  return OnlyFerretsThreads() == first;
}

}  // namespace ferret
