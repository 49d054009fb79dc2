// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/exit_watch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>

#include "runtime/record/recorder.h"
#include "runtime/session/exit_hook.h"
#include "runtime/session/last_thread.h"
#include "runtime/threads/background_thread.h"
#include "runtime/threads/own_threads.h"

namespace ferret {
namespace {

// How long a process that is finished may stay.
constexpr int64_t kLookForThreadsNs = 5'000'000'000;

struct Watch {
  std::atomic<bool> hook_asked{false};
  std::atomic<ferret_preload_before_exit_function> hook{nullptr};

  std::atomic<bool> has_thread{false};  // or is about to
  // Whose it is, once it is complete. In the child of a vfork getpid tells another one.
  std::atomic<pid_t> process{0};
  std::atomic<void (*)()> stop{nullptr};
  std::atomic<int64_t> limit_ns{0};
  sem_t wanted{};
  sem_t done{};  // stays posted
  std::atomic<pid_t> leaver{0};  // the thread that leaves, of several the first
};
// Constant from the start, as every member has a value: a session may begin in a constructor that comes before others.
Watch g_watch;

timespec In(int64_t ns) {
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  ns += until.tv_nsec;
  until.tv_sec += ns / 1'000'000'000;
  until.tv_nsec = ns % 1'000'000'000;
  return until;
}

void Run() {
  pthread_setname_np(pthread_self(), "ferret-exit");
  internal::Recorder::SuppressThisThread();
  ThisThreadIsFerrets();
  for (;;) {
    const timespec until = In(kLookForThreadsNs);
    if (sem_clockwait(&g_watch.wanted, CLOCK_MONOTONIC, &until) == 0) break;
    if (errno == ETIMEDOUT) EndProcessIfOnlyFerretIsLeft();
  }
  g_watch.stop.load()();
  sem_post(&g_watch.done);
}

// On the thread that leaves. Others may leave at the same time: whoever is through first ends the process for all.
void Leaving() {
  if (getpid() != g_watch.process) return;
  const pid_t own = static_cast<pid_t>(syscall(SYS_gettid));
  pid_t leaver = 0;
  const bool first = g_watch.leaver.compare_exchange_strong(leaver, own);
  if (leaver == own) return;  // in a signal handler, while it waited below
  const timespec until = In(g_watch.limit_ns);
  if (first) sem_post(&g_watch.wanted);
  int result;
  do {
    result = sem_clockwait(&g_watch.done, CLOCK_MONOTONIC, &until);
  } while (result != 0 && errno == EINTR);
  if (result == 0) sem_post(&g_watch.done);
}

// False when the system gives no thread.
bool HaveThread() {
  if (g_watch.has_thread.exchange(true)) return true;
  sem_init(&g_watch.wanted, 0, 0);
  sem_init(&g_watch.done, 0, 0);
  g_watch.leaver = 0;
  const BlockSignalsForNewThread block;
  try {
    std::thread(&Run).detach();
  } catch (const std::system_error&) {
    g_watch.has_thread = false;
    return false;
  }
  return true;
}

}  // namespace

void FindExitHook() {
  if (g_watch.hook_asked.exchange(true)) return;
  g_watch.hook = reinterpret_cast<ferret_preload_before_exit_function>(dlsym(RTLD_DEFAULT, FERRET_PRELOAD_BEFORE_EXIT));
}

void WatchForExit(void (*stop)(), absl::Duration limit) {
  g_watch.stop = stop;
  g_watch.limit_ns = absl::ToInt64Nanoseconds(limit);
  const ferret_preload_before_exit_function hook = g_watch.hook;
  if (hook == nullptr || !HaveThread()) return;
  g_watch.process = getpid();
  hook(&Leaving);
}

void WatchForLastThread() { HaveThread(); }

void ForgetExitWatchInChild() {
  g_watch.process = 0;
  g_watch.has_thread = false;
}

}  // namespace ferret
