// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What happens when no chunk is to be had, one record at a time.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/clock/cpu_clock.h"
#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

Site g_site{"overflow", RecordType::kScopeBegin, 0};

// Begins and ends scopes until one is refused.
uint64_t RecordUntilRefused() {
  for (uint64_t recorded = 0;; ++recorded) {
    const ScopeEnd end = BeginScope(g_site);
    if (!end) return recorded;
    EndScope(end);
  }
}

uint64_t Lost(LossReason reason) { return LostBy(t_writer->thread)[reason]; }

// Runs as a thread that has filled the two chunks there are; one of them is sealed, and free for HandDrain to recycle.
void WhenFull(const Sizes& sizes, const std::function<void(HandDrain&)>& body) {
  Recorder* const recorder = NewRecorder(sizes);
  OnThread([&] {
    const RecordingOn on(recorder);
    EXPECT_GT(RecordUntilRefused(), 100u);
    HandDrain drain(recorder);
    body(drain);
  });
}

TEST(Overflow, ADroppedScopeIsLookedForAgainOnlyWhenAChunkWasRecycled) {
  WhenFull({.chunks = 2}, [](HandDrain& drain) {
    ThreadState* const state = CurrentState();
    EXPECT_TRUE(state->refused);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(BeginScope(g_site));
    EXPECT_EQ(Lost(LossReason::kPoolExhausted), 1001u);
    EXPECT_EQ(drain.RecycleSealed(), 1u);
    // A free chunk is not found by a thread that believes to have looked since.
    const uint32_t seen = std::exchange(state->recycled_seen, state->recorder->pool().recycled());
    EXPECT_FALSE(BeginScope(g_site));
    state->recycled_seen = seen;
    const ScopeEnd end = BeginScope(g_site);
    EXPECT_TRUE(end) << "a chunk was recycled";
    EndScope(end);
    EXPECT_FALSE(state->refused);
  });
}

TEST(Overflow, TheRecoveredChunkStartsWithWhatWasLost) {
  WhenFull({.chunks = 2}, [](HandDrain& drain) {
    for (int i = 0; i < 41; ++i) EXPECT_FALSE(BeginScope(g_site));
    drain.RecycleSealed();
    EndScope(BeginScope(g_site));
    const std::vector<ReadRecord> read = Walk(*drain.Chunks().back());
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[0].type, RecordType::kLoss);
    EXPECT_EQ(read[0].payload, static_cast<uint32_t>(LossReason::kPoolExhausted));
    EXPECT_EQ(read[0].more[0], 42u);
    EXPECT_LE(read[0].more[1], read[0].ticks) << "the first was lost before the last";
    EXPECT_LE(read[0].ticks, read[1].ticks);
    // It is told once.
    RecordUntilRefused();
    drain.RecycleSealed();
    EndScope(BeginScope(g_site));
    EXPECT_EQ(Walk(*drain.Chunks().back()).at(0).more[0], 1u);
  });
}

TEST(Overflow, BlockingWaitsItsLimitOnceAndNotAgainUntilAChunkWasRecycled) {
  const int64_t limit = 20'000'000;
  WhenFull({.chunks = 2, .policy = OverflowPolicy::kBlock, .block_limit_ns = limit}, [&](HandDrain& drain) {
    EXPECT_EQ(Lost(LossReason::kBlockTimeout), 1u);
    int64_t start = ferret::MonotonicNs();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(BeginScope(g_site));
    EXPECT_LT(ferret::MonotonicNs() - start, 10 * limit) << "1000 refusals cost no 1000 waits";
    EXPECT_EQ(Lost(LossReason::kBlockTimeout), 1001u);
    EXPECT_EQ(Lost(LossReason::kPoolExhausted), 0u);

    drain.RecycleSealed();
    EXPECT_GT(RecordUntilRefused(), 100u) << "the wait is over at once when there is a chunk";
    start = ferret::MonotonicNs();
    drain.RecycleSealed();
    RecordUntilRefused();
    EXPECT_GE(ferret::MonotonicNs() - start, limit) << "something was recycled since: it waits again";
  });
}

TEST(Overflow, ABlockedThreadGoesOnWhenAChunkIsRecycled) {
  Recorder* const recorder =
      NewRecorder({.chunks = 2, .policy = OverflowPolicy::kBlock, .block_limit_ns = 60'000'000'000});
  std::atomic<bool> done{false};
  std::atomic<uint32_t> thread{0};
  const RecordingOn on(recorder);
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) const Scope scope(g_site);
    thread = ThreadId();
    done = true;
  });
  HandDrain drain(recorder);
  size_t recycled = 0;
  while (!done) recycled += drain.RecycleSealed();
  writer.join();
  EXPECT_GT(recycled, 100u);
  EXPECT_EQ(LostBy(thread).total(), 0u);
}

TEST(Overflow, AnEndThatFindsNoRoomDoesNotTakeTheNextBeginsWaitAway) {
  const int64_t limit = 5'000'000;
  Recorder* const recorder =
      NewRecorder({.chunks = 1, .policy = OverflowPolicy::kBlock, .block_limit_ns = limit});
  OnThread([&] {
    const RecordingOn on(recorder);
    const AsyncScope held = BeginAsync("holds the only chunk");
    OnThread([&] {
      EndAsync(held);
      ASSERT_NE(CurrentState(), nullptr);
      const int64_t start = ferret::MonotonicNs();
      EXPECT_FALSE(BeginScope(g_site));
      EXPECT_GE(ferret::MonotonicNs() - start, limit);
    });
  });
}

TEST(Overflow, GrowingStopsAtTheCap) {
  Recorder* const recorder = NewRecorder({.chunks = 2, .policy = OverflowPolicy::kGrow, .max_chunks = 9});
  OnThread([&] {
    const RecordingOn on(recorder);
    RecordUntilRefused();
    EXPECT_EQ(recorder->pool().chunks_used(), 9u);
    EXPECT_EQ(Lost(LossReason::kMemoryCap), 1u);
    EXPECT_EQ(LostBy(t_writer->thread).total(), 1u);
  });
  HandDrain drain(recorder);
  EXPECT_EQ(drain.Chunks().size(), 9u);
}

TEST(Overflow, AFullChunkThatIsKeptTakesTheEndsOfItsScopes) {
  Recorder* const recorder = NewRecorder({.chunks = 1});
  OnThread([&] {
    const RecordingOn on(recorder);
    std::vector<ScopeEnd> open;
    // The last one to be recorded is open inside of them when the room for begins ends.
    for (int i = 0; i < 31; ++i) open.push_back(BeginScope(g_site));
    RecordUntilRefused();
    for (; !open.empty(); open.pop_back()) EndScope(open.back());
  });
  HandDrain drain(recorder);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  EXPECT_EQ(CountOf(read, RecordType::kScopeBegin), CountOf(read, RecordType::kScopeEnd));
}

// The unit of losses is a scope, an instant or a counter: a step or a thread's name is nobody's attempt.
TEST(Overflow, RefusedStepsAndThreadNamesAreNotCountedAsLostScopes) {
  WhenFull({.chunks = 2}, [](HandDrain&) {
    const uint64_t before = LostBy(t_writer->thread).total();
    Step();
    SetThreadName("nobody");
    EXPECT_EQ(LostBy(t_writer->thread).total(), before);
    Instant("somebody");
    Counter("somebody", 1);
    EXPECT_EQ(LostBy(t_writer->thread).total(), before + 2);
  });
}

TEST(Overflow, LossesOfOneSessionAreNotToldInTheNext) {
  Recorder* const recorder = NewRecorder({.chunks = 2});
  OnThread([&] {
    {
      const RecordingOn on(recorder);
      RecordUntilRefused();
    }
    HandDrain drain(recorder);
    drain.RecycleSealed();
    const RecordingOn on(recorder);
    EndScope(BeginScope(g_site));
    EXPECT_EQ(CountOf(Walk(*drain.Chunks().back()), RecordType::kLoss), 0u);
  });
}

// A thread that was refused by the last session's pool has never looked into the new one.
TEST(Overflow, AThreadThatWasRefusedFindsTheChunksOfTheNextSession) {
  Recorder* const small = NewRecorder({.chunks = 2});
  Recorder* const large = NewRecorder({.chunks = 64});
  OnThread([&] {
    {
      const RecordingOn on(small);
      RecordUntilRefused();
    }
    ASSERT_EQ(small->pool().recycled(), large->pool().recycled());
    const RecordingOn on(large);
    EXPECT_TRUE(BeginScope(g_site));
  });
}

TEST(Overflow, ErrnoIsLeftAloneByEveryWayARecordCanGo) {
  for (const auto policy : {OverflowPolicy::kDrop, OverflowPolicy::kBlock, OverflowPolicy::kGrow}) {
    Recorder* const recorder = NewRecorder({.chunks = 2, .policy = policy, .max_chunks = 3});
    OnThread([&] {
      const RecordingOn on(recorder);
      errno = 77;
      for (int i = 0; i < 2000; ++i) {
        const Scope literal(g_site);
        const Scope named("errno");
        Counter("errno", 1);
        ASSERT_EQ(errno, 77) << i;
      }
    });
  }
}

}  // namespace
}  // namespace ferret::internal
