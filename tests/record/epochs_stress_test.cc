// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Epochs that change under recording threads: adapters that come and go.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/adapter.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

thread_local uint64_t t_framework_id = 0;
std::atomic<uint64_t> g_next_framework_id{0};
std::atomic<uint64_t> g_asked{0};

uint64_t FrameworkId() {
  g_asked.fetch_add(1, std::memory_order_relaxed);
  if (t_framework_id == 0) t_framework_id = g_next_framework_id.fetch_add(1) + 1;
  return 1'000'000 + t_framework_id;
}

class Epochs : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override { SetThreadIdProvider(nullptr); }
};

TEST_P(Epochs, AProviderThatIsSetWhileThreadsRecordLeavesEveryScopeWhole) {
  constexpr int kThreads = 4;
  constexpr int kChanges = kUnderTsan ? 8 : 20;
  // Blocking, so that there is always a chunk for the new epoch.
  Recorder* const recorder =
      NewRecorder({.chunks = 512, .policy = OverflowPolicy::kBlock, .block_limit_ns = 60'000'000'000});
  CountingSink sink;
  TestSession session(recorder, &sink, GetParam());
  session.StartDrain();
  std::atomic<bool> done{false};
  std::atomic<uint64_t> attempts{0}, lost{0};
  std::atomic<uint64_t> progress[kThreads] = {};
  std::vector<std::thread> threads;
  for (auto& mine : progress) {
    threads.emplace_back([&] {
      uint64_t scopes = 0;
      while (!done) {
        FERRET_SCOPE("outer");
        FERRET_OP_SCOPE("inner", ForwardOp(static_cast<int64_t>(scopes)));
        scopes += 2;
        mine = scopes;
      }
      attempts += scopes;
      lost += LostBy(ThreadId()).total();
    });
  }
  const auto all_went_on = [&] {
    for (auto& count : progress) {
      const uint64_t seen = count;
      while (count < seen + 4) std::this_thread::yield();
    }
  };
  // On a machine with much else to do it may take more until something is shown under a framework's id.
  const auto enough = [&](int changes) {
    return changes >= kChanges && (sink.threads() > static_cast<size_t>(kThreads) || changes >= 100 * kChanges);
  };
  for (int i = 0; !enough(i); ++i) {
    all_went_on();
    const uint64_t asked = g_asked;
    SetThreadIdProvider(&FrameworkId);
    all_went_on();
    EXPECT_GE(g_asked, asked + kThreads) << "every thread passes the cold path once, at its next record";
    SetThreadIdProvider(nullptr);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  session.Stop();
  EXPECT_EQ(attempts, sink.All().scopes + lost);
  EXPECT_EQ(sink.All().truncated, 0u);
  EXPECT_GT(sink.threads(), static_cast<size_t>(kThreads)) << "shown under the framework's ids as well";
}

TEST_P(Epochs, AProviderIsAskedAtTheNextRecordOfEachThreadAndNotAgainInItsChunk) {
  Recorder* const recorder = NewRecorder({});
  HandDrain drain(recorder);
  OnThread([&] {
    const RecordingOn on(recorder, GetParam());
    { FERRET_SCOPE("before"); }
    SetThreadIdProvider(&FrameworkId);
    const uint64_t asked = g_asked;
    for (int i = 0; i < 3; ++i) {
      FERRET_SCOPE("afterwards");
    }
    EXPECT_EQ(g_asked, asked + 1);
    ASSERT_EQ(drain.Chunks().size(), 2u);
    EXPECT_EQ(drain.Chunks()[0]->framework_thread, 0u);
    EXPECT_EQ(drain.Chunks()[1]->framework_thread, FrameworkId());
    EXPECT_EQ(drain.Chunks()[0]->thread, drain.Chunks()[1]->thread);
    EXPECT_EQ(drain.Chunks()[0]->sealed.load(), 1u);
  });
}

// With no chunk left for the new epoch, begins are refused and ends still reach the old chunk.
TEST_P(Epochs, AnEpochThatFindsNoChunkStillTakesTheEndsOfOpenScopes) {
  Recorder* const recorder = NewRecorder({.chunks = 1});
  CountingSink sink;
  TestSession session(recorder, &sink, GetParam());
  uint32_t thread = 0;
  OnThread([&] {
    thread = ThreadId();
    {
      FERRET_SCOPE("open across the epoch");
      Recorder::NewEpoch();
      FERRET_SCOPE("refused");
    }
    FERRET_SCOPE("refused too");
  });
  session.Stop();
  EXPECT_EQ(sink.Of(thread).scopes, 1u);
  EXPECT_EQ(sink.Of(thread).truncated, 0u);
  EXPECT_EQ(LostBy(thread)[LossReason::kPoolExhausted], 2u);
}

// Sessions that start and stop under threads which record all the time: each is complete in itself.
TEST_P(Epochs, SessionsThatComeAndGoUnderRecordingThreadsCountEverythingOrNothing) {
  constexpr int kThreads = 3;
  constexpr int kSessions = kUnderTsan ? 6 : 40;
  const Sizes same{.chunks = 128};
  Recorder* recorder = NewRecorder(same);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  std::set<std::string> wrong;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      // Numbers go up in every thread; what reaches the sink shows whether any record came twice or out of order.
      for (int64_t n = 0; !done; ++n) {
        FERRET_OP_SCOPE("outer", ForwardOp(n));
        Counter("inside", static_cast<double>(n));
      }
    });
  }
  std::map<uint32_t, int64_t> last_scope, last_counter;
  for (int i = 0; i < kSessions; ++i) {
    // Now the same pool, now another one.
    if (i % 3 == 2) recorder = NewRecorder(same);
    CountingSink sink;
    sink.on_event = [&](const FunctionEvent& event) {
      if (event.name != "outer" || event.end_ns < event.start_ns) wrong.insert("event");
      // 0 is a thread's first; afterwards each is larger than the last.
      if (event.sequence_nr != 0 && event.sequence_nr <= last_scope[event.thread]) wrong.insert("scope order");
      last_scope[event.thread] = event.sequence_nr;
    };
    sink.on_instant = [&](const InstantEvent& instant) {
      if (instant.kind != InstantEvent::Kind::kCounter) return;
      const auto value = static_cast<int64_t>(instant.value);
      if (value != 0 && value <= last_counter[instant.thread]) wrong.insert("counter order");
      last_counter[instant.thread] = value;
    };
    TestSession session(recorder, &sink, GetParam());
    session.StartDrain();
    while (sink.threads() < kThreads) ASSERT_TRUE(session.Flush());
    session.Stop();
    EXPECT_LE(sink.All().truncated, static_cast<uint64_t>(kThreads)) << "only what was open at the end";
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(wrong.empty()) << *wrong.begin();
}

std::string ClockName(const ::testing::TestParamInfo<bool>& tested) {
  return tested.param ? "CycleCounter" : "MonotonicClock";
}
INSTANTIATE_TEST_SUITE_P(Clocks, Epochs, ::testing::Bool(), ClockName);

}  // namespace
}  // namespace ferret::internal
