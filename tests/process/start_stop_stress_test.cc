// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sessions that are started and stopped by many at once, by threads that signals interrupt, and beside exporters that hang.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 10;
#else
constexpr int kRounds = 50;
#endif
// What a loaded machine may add to any deadline.
constexpr absl::Duration kSlack = absl::Seconds(20);

// Sends SIGUSR1 to the thread that makes it, again and again.
class Storm {
 public:
  Storm() {
    struct sigaction action = {};
    action.sa_handler = [](int) { g_signals.fetch_add(1, std::memory_order_relaxed); };
    sigaction(SIGUSR1, &action, nullptr);  // without SA_RESTART: system calls are interrupted
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const itimerspec times = {{0, 100'000}, {0, 1000}};
    EXPECT_EQ(timer_settime(timer_, 0, &times, nullptr), 0);
  }
  ~Storm() { timer_delete(timer_); }

  static inline std::atomic<int> g_signals{0};

 private:
  timer_t timer_;
};

// Each attempt is made while its session is on, so each must be delivered or counted.
TEST(StartStopStorm, LeavesExactSums) {
  uint64_t recorded = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto collector = std::make_shared<MemoryCollector>();
    ASSERT_TRUE(StartSession(TestOptions(16), Exporters().Memory(collector).Take()).ok());
    std::map<uint32_t, uint64_t> attempts;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const uint32_t thread = ThreadId();
        uint64_t own = 0;
        for (; own < 3000; own += 2) {
          FERRET_SCOPE("scope");
          Instant("instant");
          if (own % 512 == 0) { EXPECT_FALSE(StartSession(TestOptions(16), {}).ok()); }
        }
        const std::lock_guard<std::mutex> lock(mutex);
        attempts[thread] += own;
      });
    }
    for (std::thread& thread : threads) thread.join();
    // All of them stop it; none has anything to complain of.
    std::vector<std::thread> stoppers;
    for (int i = 0; i < 4; ++i) stoppers.emplace_back([] { EXPECT_TRUE(Stop60().ok()); });
    for (std::thread& thread : stoppers) thread.join();
    ASSERT_FALSE(IsRecording());
    ExpectExact(attempts, collector->Take());
    for (const auto& entry : attempts) recorded += entry.second;
  }
  std::printf("FIGURE: storm of starts and stops: %d sessions, 4 threads start and stop each, %llu records, the sum is exact\n",
              kRounds, static_cast<unsigned long long>(recorded));
}

TEST(StartStop, OnAThreadThatSignalsInterruptGoesAsElsewhere) {
  Storm::g_signals = 0;
  {
    const Storm storm;
    while (Storm::g_signals < 3) sched_yield();
    for (int round = 0; round < kRounds; ++round) {
      auto collector = std::make_shared<MemoryCollector>();
      ASSERT_TRUE(StartSession(TestOptions(16), Exporters().Memory(collector).Take()).ok());
      for (int i = 0; i < 100; ++i) { FERRET_SCOPE("scope"); }
      ASSERT_EQ(Flush(60'000), "");
      ASSERT_TRUE(Stop60().ok());
      const CollectedTrace trace = collector->Take();
      ASSERT_TRUE(trace.complete());
      ASSERT_EQ(trace.events.size(), 100u);
    }
  }
  EXPECT_GT(Storm::g_signals, kRounds);
  std::printf("FIGURE: storm of starts and stops: %d sessions on a thread with %d signals meanwhile\n", kRounds,
              Storm::g_signals.load());
  signal(SIGUSR1, SIG_DFL);
}

// Whoever stops first may have chosen to wait for long. Nobody else has.
TEST(StartStop, DeadlinesHoldWhileAnotherThreadStopsWithALongerOne) {
  auto latch = std::make_shared<Latch>();
  auto entered = std::make_shared<Latch>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().With("blocks", BlockingExporter(latch, entered)).Take()).ok());
  { FERRET_SCOPE("scope"); }
  entered->Wait();
  std::thread patient([] { EXPECT_EQ(Stop(600'000), ""); });
  // Recording is off as soon as that one stops.
  while (IsRecording()) sched_yield();
  const absl::Time start = absl::Now();
  EXPECT_NE(Stop(100), "");
  EXPECT_NE(Flush(100), "");
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(200) + kSlack);
  latch->Open();
  patient.join();
  EXPECT_EQ(Stop(100), "");
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(collector).Take()).ok());
  { FERRET_SCOPE("scope"); }
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(collector->Take().events.size(), 1u);
}

}  // namespace
}  // namespace ferret
