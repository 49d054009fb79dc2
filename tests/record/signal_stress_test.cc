// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A storm of signals whose handler records what the interrupted code records as well.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <thread>
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

struct Interrupted {
  std::thread thread;
  std::atomic<bool> ready{false};
  std::atomic<bool> done{false};
  std::atomic<bool> may_exit{false};
  uint32_t id = 0;
  int64_t attempts = 0;
  int64_t interruptions = 0;
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
  constexpr int64_t kRecords = kUnderTsan ? 30'000 : 400'000;
  for (const uint32_t chunks : {4u, 512u}) {
    Recorder* const recorder = NewRecorder({.chunks = chunks});
    TestSession session(recorder, &sink_, GetParam());
    session.StartDrain();
    std::vector<Interrupted> writers(2);
    for (Interrupted& writer : writers) {
      writer.thread = std::thread([&writer] {
        // Attached, and its name cache made, before the first signal.
        RecordOne(writer.attempts++);
        { const OpScope warm(g_handler_site, ForwardOp(t_in_handler.fetch_add(1))); }
        writer.id = ThreadId();
        writer.ready = true;
        while (writer.attempts < kRecords) RecordOne(writer.attempts++);
        writer.done = true;
        while (!writer.may_exit) std::this_thread::yield();
        sigset_t block;
        sigfillset(&block);
        pthread_sigmask(SIG_SETMASK, &block, nullptr);
        writer.interruptions = t_in_handler;
      });
    }
    for (Interrupted& writer : writers) {
      while (!writer.ready) std::this_thread::yield();
    }
    while (!writers[0].done || !writers[1].done) {
      for (Interrupted& writer : writers) pthread_kill(writer.thread.native_handle(), SIGUSR1);
    }
    for (Interrupted& writer : writers) {
      writer.may_exit = true;
      writer.thread.join();
    }
    session.Stop();
    for (const Interrupted& writer : writers) {
      const LossCounts lost = LostBy(writer.id);
      EXPECT_GT(writer.interruptions, 50);
      EXPECT_EQ(static_cast<uint64_t>(writer.attempts + writer.interruptions),
                sink_.Of(writer.id).scopes + lost.total());
      EXPECT_EQ(lost.total(), lost[LossReason::kNestedInSignal] + lost[LossReason::kPoolExhausted]);
      EXPECT_EQ(sink_.Of(writer.id).truncated, 0u);
      EXPECT_GT(sink_.Of(writer.id).scopes, 0u);
    }
    EXPECT_EQ(corrupt_, 0u);
  }
}

// Threads that are interrupted around their very first record: before, while and after their state is made.
TEST_P(SignalStorm, AroundTheFirstRecordOfAThreadLeavesExactCounts) {
  constexpr int kThreads = kUnderTsan ? 300 : 3000;
  Recorder* const recorder = NewRecorder({.chunks = 1024});
  const uint64_t unowned = LostBy(0).total();
  TestSession session(recorder, &sink_, GetParam());
  session.StartDrain();
  // Registered, so that a handler needs no lock of the name table.
  OnThread([] {
    RecordOne(0);
    const OpScope warm(g_handler_site, ForwardOp(0));
  });
  uint64_t attempts = 2, lost = 0;
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, &before);  // inherited: nothing but recording may be interrupted
  for (int i = 0; i < kThreads; ++i) {
    Interrupted writer;
    writer.thread = std::thread([&] {
      writer.ready = true;
      pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
      for (; writer.attempts < 20; ++writer.attempts) RecordOne(writer.attempts);
      pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
      writer.interruptions = t_in_handler;
      writer.id = ThreadId();
      writer.done = true;
      while (!writer.may_exit) std::this_thread::yield();
    });
    while (!writer.ready) {
    }
    while (!writer.done) pthread_kill(writer.thread.native_handle(), SIGUSR1);
    lost += LostBy(writer.id).total();
    writer.may_exit = true;
    writer.thread.join();
    attempts += static_cast<uint64_t>(writer.attempts + writer.interruptions);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  session.Stop();
  lost += LostBy(0).total() - unowned;
  EXPECT_EQ(attempts, sink_.All().scopes + lost);
  EXPECT_EQ(sink_.All().truncated, 0u);
  EXPECT_EQ(corrupt_, 0u);
}

std::string ClockName(const ::testing::TestParamInfo<bool>& tested) {
  return tested.param ? "CycleCounter" : "MonotonicClock";
}
INSTANTIATE_TEST_SUITE_P(Clocks, SignalStorm, ::testing::Bool(), ClockName);

}  // namespace
}  // namespace ferret::internal
