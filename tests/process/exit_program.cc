// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// exit_program HOW: records "before" 1,000 times and ends as HOW says. With flush as a second argument the first half of
// that is flushed before the rest is recorded. What it records while it ends has other names.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

void Record(int count) {
  for (int i = 0; i < count; ++i) { FERRET_SCOPE("before"); }
}

struct RecordsWhenDestroyed {
  explicit RecordsWhenDestroyed(const char* what) : name(what) {}
  ~RecordsWhenDestroyed() { const ferret::Scope scope(name); }
  const char* name;
};

// Made before Ferret's constructor, and so destroyed after its exit handler.
__attribute__((constructor(101))) void MakeEarlyStatic() { static RecordsWhenDestroyed early("early static"); }

// All the destructors and handlers that a program may have.
void MakeDestructors() {
  static RecordsWhenDestroyed late("late static");
  thread_local RecordsWhenDestroyed of_thread("thread_local of main");
  (void)of_thread.name;
  atexit([] { FERRET_SCOPE("atexit handler"); });
  // Runs only where the main thread ends before the process.
  pthread_key_t key;
  pthread_key_create(&key, [](void*) { FERRET_SCOPE("key destructor of main"); });
  pthread_setspecific(key, &late);
}

// Detached threads that record until there is no process any more. Prints how often they have, at least, then exits.
[[noreturn]] void ExitBesideDetachedThreads() {
  static std::atomic<int> recorded{0};
  for (int i = 0; i < 4; ++i) {
    std::thread([] {
      for (;;) {
        { FERRET_SCOPE("detached"); }
        recorded.fetch_add(1, std::memory_order_relaxed);
      }
    }).detach();
  }
  while (recorded < 4000) sched_yield();
  printf("%d\n", recorded.load());
  fflush(stdout);
  exit(7);
}

[[noreturn]] void End(const std::string& how) {
  if (how == "exit") exit(7);
  if (how == "quick_exit") {
    at_quick_exit([] { FERRET_SCOPE("quick handler"); });
    quick_exit(7);
  }
  if (how == "_exit") _exit(7);
  if (how == "abort") abort();
  if (how == "terminate") throw std::runtime_error("nobody catches this");
  if (how == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (how == "kill") raise(SIGKILL);
  if (how == "detached") ExitBesideDetachedThreads();
  if (how == "destructors") {
    MakeDestructors();
    exit(7);
  }
  if (how == "open") {
    FERRET_SCOPE("open at exit");
    exit(7);
  }
  // The main thread ends by itself, with all its destructors, and the process with the last thread of the program.
  if (how == "pthread_exit") {
    MakeDestructors();
    static const pthread_t main_thread = pthread_self();
    std::thread([] {
      pthread_join(main_thread, nullptr);
      FERRET_SCOPE("after main");
    }).detach();
    pthread_exit(nullptr);
  }
  exit(99);
}

}  // namespace

int main(int count, char** arguments) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const bool flush = count > 2;
  Record(500);
  if (flush && !ferret::Flush(60'000).empty()) return 98;
  Record(500);
  End(arguments[1]);
}
