// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that records and never starts or stops anything. Its argument says how it behaves; it prints one number, how
// many scopes the trace must have.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

void Record(int count) {
  for (int i = 0; i < count; ++i) { FERRET_SCOPE("scope"); }
}

[[noreturn]] void Exit(int count, int status) {
  printf("%d\n", count);
  fflush(stdout);
  exit(status);
}

int ThreadCount() {
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// Records when it is destroyed, whenever that is.
struct RecordsLate {
  ~RecordsLate() { Record(10); }
};
thread_local RecordsLate t_records_late;

// Destroyed after Ferret's exit handler has run, since it is there before Ferret's constructor.
__attribute__((constructor(101))) void MakeStatic() { static RecordsLate records_late; }

void RecordInHandler() { Record(10); }

// As a data loader does: children that record, and end in the two ways that there are.
int ForkChildren() {
  Record(5);
  int failures = 0;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Record(1000);
      std::thread([] { Record(1000); }).join();
      if (ferret::IsRecording()) _exit(50);
      if (ferret::Start("chrome_trace:child.json").empty()) _exit(51);
      if (!ferret::Stop().empty() || !ferret::Flush(1000).empty()) _exit(52);
      if (i % 2 == 0) _exit(0);
      exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    failures += status != 0;
    Record(5);
  }
  Exit(35, failures == 0 ? 7 : 1);
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  if (how == "nothing") Exit(0, 7);
  if (how == "count_threads") {
    Record(1);
    Exit(ThreadCount(), 7);
  }
  if (how == "quick") {
    Record(1);
    Exit(1, 7);
  }
  if (how == "return") {
    Record(1000);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([] { Record(1000); });
    for (std::thread& thread : threads) thread.join();
    printf("5000\n");
    return 7;
  }
  if (how == "exit_in_thread") {
    Record(100);
    std::thread([] {
      Record(100);
      Exit(200, 7);
    }).join();
  }
  if (how == "record_late") {
    atexit(&RecordInHandler);
    (void)&t_records_late;
    Record(1);
    // The handler runs before Ferret's, which was there first, and so does the thread's object; statics come later.
    Exit(21, 7);
  }
  if (how == "abort") {
    Record(1000);
    printf("1000\n");
    fflush(stdout);
    if (!ferret::Flush(60'000).empty()) exit(1);
    Record(1000);
    abort();
  }
  if (how == "fork") return ForkChildren();
  return 99;
}
