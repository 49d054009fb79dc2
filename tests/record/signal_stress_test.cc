// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A storm of signals whose handler records what the interrupted code records as well.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/record/recording.h"

#if defined(__SANITIZE_THREAD__)
// A thread whose first record is a handler's gets its state there, from malloc. The test sees to it that the handler
// interrupts no other malloc.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "report_signal_unsafe=0"; }
#endif

namespace ferret::internal {
namespace {

Site g_main_site{"interrupted", RecordType::kOpBegin, 0};
Site g_handler_site{"interrupting", RecordType::kOpBegin, 0};

thread_local std::atomic<int64_t> t_in_handler{0};

void Handler(int) {
  const OpScope scope(g_handler_site, ForwardOp(t_in_handler.fetch_add(1, std::memory_order_relaxed)));
}

void RecordOne(int64_t number) {
  errno = 33;
  const OpScope scope(g_main_site, ForwardOp(number));
  EXPECT_EQ(errno, 33);
}

// Sends SIGUSR1 to the thread that makes it, again and again.
class Storm {
 public:
  Storm(int64_t first_ns, int64_t interval_ns) {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const itimerspec times = {{0, interval_ns}, {0, first_ns}};
    EXPECT_EQ(timer_settime(timer_, 0, &times, nullptr), 0);
  }
  ~Storm() { timer_delete(timer_); }

 private:
  timer_t timer_;
};

void SetBlocked(bool blocked) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &usr1, nullptr);
}

// What a thread did, as seen when no signal reaches it any more.
struct Interrupted {
  uint32_t id = 0;
  int64_t attempts = 0;
  int64_t interruptions = 0;
  uint64_t total() const { return static_cast<uint64_t>(attempts + interruptions); }
};

class SignalStorm : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_handler = &Handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    sink_.on_event = [this](const FunctionEvent& event) {
      if (event.name != "interrupted" && event.name != "interrupting") ++corrupt_;
      int64_t& next = next_[{event.thread, event.name == "interrupted"}];
      if (event.sequence_nr < next || event.end_ns < event.start_ns) ++corrupt_;
      next = event.sequence_nr + 1;
    };
  }
  void TearDown() override { signal(SIGUSR1, SIG_DFL); }

  CountingSink sink_;
  std::map<std::pair<uint32_t, bool>, int64_t> next_;
  uint64_t corrupt_ = 0;
};

TEST_P(SignalStorm, LeavesNoGapNoDamageAndExactCounts) {
  constexpr int64_t kInterruptions = kUnderTsan ? 500 : 5000;
  for (const uint32_t chunks : {4u, 512u}) {
    Recorder* const recorder = NewRecorder({.chunks = chunks});
    TestSession session(recorder, &sink_, GetParam());
    session.StartDrain();
    Interrupted results[2];
    std::vector<std::thread> threads;
    for (Interrupted& result : results) {
      threads.emplace_back([&result] {
        // Attached, and its name cache made, before the first signal.
        RecordOne(result.attempts++);
        { const OpScope warm(g_handler_site, ForwardOp(t_in_handler.fetch_add(1))); }
        result.id = ThreadId();
        {
          const Storm storm(1000, 20'000);
          while (t_in_handler < kInterruptions) RecordOne(result.attempts++);
        }
        SetBlocked(true);
        result.interruptions = t_in_handler;
      });
    }
    for (std::thread& thread : threads) thread.join();
    session.Stop();
    for (const Interrupted& result : results) {
      const LossCounts lost = LostBy(result.id);
      EXPECT_EQ(result.total(), sink_.Of(result.id).scopes + lost.total());
      EXPECT_EQ(lost.total(), lost[LossReason::kNestedInSignal] + lost[LossReason::kPoolExhausted]);
      EXPECT_EQ(sink_.Of(result.id).truncated, 0u);
      EXPECT_GT(lost[LossReason::kNestedInSignal], 0u) << "no signal came in the middle of a record";
      std::printf("FIGURE: storm of signals: %u chunks, %s: %lld records, %lld more in handlers; %llu counted lost, the sum "
                  "is exact\n",
                  chunks, GetParam() ? "cycle counter" : "monotonic clock", static_cast<long long>(result.attempts),
                  static_cast<long long>(result.interruptions), static_cast<unsigned long long>(lost.total()));
    }
    EXPECT_EQ(corrupt_, 0u);
  }
}

// Threads that are interrupted around their very first record: before, while and after their state is made.
TEST_P(SignalStorm, AroundTheFirstRecordOfAThreadLeavesExactCounts) {
  if (kUnderTsan) GTEST_SKIP() << "a handler's first record on its thread allocates, and ThreadSanitizer forbids that";
  constexpr int kThreads = 2000;
  Recorder* const recorder = NewRecorder({.chunks = 1024});
  const uint64_t unowned = LostBy(0).total();
  TestSession session(recorder, &sink_, GetParam());
  session.StartDrain();
  // Registered, so that a handler needs no lock of the name table.
  OnThread([] {
    RecordOne(0);
    const OpScope warm(g_handler_site, ForwardOp(0));
  });
  uint64_t attempts = 2, lost = 0, interruptions = 0;
  SetBlocked(true);  // inherited: nothing but recording may be interrupted
  for (int i = 0; i < kThreads; ++i) {
    OnThread([&] {
      Interrupted result;
      {
        const Storm storm(1 + i % 100 * 150, 100'000);
        SetBlocked(false);
        for (; result.attempts < 30; ++result.attempts) RecordOne(result.attempts);
        SetBlocked(true);
      }
      result.interruptions = t_in_handler;
      interruptions += static_cast<uint64_t>(result.interruptions);
      attempts += result.total();
      lost += LostBy(ThreadId()).total();
    });
  }
  SetBlocked(false);
  session.Stop();
  lost += LostBy(0).total() - unowned;
  EXPECT_EQ(attempts, sink_.All().scopes + lost);
  EXPECT_GT(interruptions, static_cast<uint64_t>(kThreads) / 10);
  EXPECT_EQ(sink_.All().truncated, 0u);
  EXPECT_EQ(corrupt_, 0u);
}

std::string ClockName(const ::testing::TestParamInfo<bool>& tested) {
  return tested.param ? "CycleCounter" : "MonotonicClock";
}
INSTANTIATE_TEST_SUITE_P(Clocks, SignalStorm, ::testing::Bool(), ClockName);

}  // namespace
}  // namespace ferret::internal
