// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A storm of signals on threads that record and come and go, with handlers that record by ferret/signal.h.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

#include "ferret/signal.h"
#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

const SignalName g_moment("moment");
const SignalName g_handling("handling");
std::atomic<uint64_t> g_in_handlers{0};

void Handler(int) {
  const ScopeFromSignal scope(g_handling);
  InstantFromSignal(g_moment);
  g_in_handlers.fetch_add(2, std::memory_order_relaxed);
}

// Sends SIGUSR1 to the thread that makes it, again and again.
class Storm {
 public:
  Storm() {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const itimerspec times = {{0, 20'000}, {0, 1000}};
    EXPECT_EQ(timer_settime(timer_, 0, &times, nullptr), 0);
  }
  ~Storm() { timer_delete(timer_); }

 private:
  timer_t timer_;
};

// From the first instruction to the last of its threads' lives, and of the session's.
TEST(SignalRecordsStorm, LeavesExactCountsWhoeverIsInterrupted) {
  constexpr uint64_t kEnough = kUnderTsan ? 2'000 : 10'000;
  struct sigaction action = {};
  action.sa_handler = &Handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  for (const bool cycle_counter : {true, false}) {
    Recorder* const recorder = NewRecorder({.chunks = 64});
    const uint64_t lost_before = [] {
      uint64_t lost = 0;
      for (const auto& entry : ThreadRegistry::Global().Losses()) lost += entry.second.total();
      return lost;
    }();
    g_in_handlers = 0;
    std::atomic<uint64_t> attempts{0};
    CountingSink sink;
    TestSession session(recorder, &sink, cycle_counter);
    session.StartDrain();
    std::vector<std::thread> starters;
    for (int i = 0; i < 2; ++i) {
      starters.emplace_back([&] {
        while (g_in_handlers < kEnough) {
          OnThread([&] {
            const Storm storm;
            uint64_t own = 0;
            for (; own < 20'000; own += 2) {
              FERRET_SCOPE("interrupted");
              Instant("interrupted too");
            }
            attempts += own;
          });
        }
      });
    }
    for (std::thread& starter : starters) starter.join();
    session.Stop();
    uint64_t lost = 0;
    for (const auto& entry : ThreadRegistry::Global().Losses()) lost += entry.second.total();
    EXPECT_EQ(attempts + g_in_handlers, sink.All().total() + lost - lost_before);
    EXPECT_EQ(sink.All().truncated, 0u);
    EXPECT_GT(lost, lost_before) << "no signal came in the middle of a record";
    std::printf("FIGURE: storm of signals: %s: %llu records, of which %llu in handlers; %llu counted lost, the sum is exact\n",
                cycle_counter ? "cycle counter" : "monotonic clock",
                static_cast<unsigned long long>(attempts + g_in_handlers),
                static_cast<unsigned long long>(g_in_handlers.load()), static_cast<unsigned long long>(lost - lost_before));
  }
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace ferret::internal
