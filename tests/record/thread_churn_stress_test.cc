// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Thread pools that come and go: what is kept of a thread ends with it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

TEST(ThreadChurn, ManyShortThreadsAreDeliveredWholeInBoundedMemory) {
  constexpr int kStarters = 4;
  constexpr int kThreads = kUnderTsan ? 2'000 : 25'000;
  // What a thread records last, it must not lose: it waits for a chunk as long as it takes.
  Recorder* const recorder =
      NewRecorder({.chunks = 256, .policy = OverflowPolicy::kBlock, .block_limit_ns = 60'000'000'000});
  CountingSink sink;
  std::atomic<uint64_t> last_words{0};
  sink.on_instant = [&](const InstantEvent& instant) { last_words += instant.name == "last words"; };
  const size_t live = ThreadRegistry::Global().live_threads();
  TestSession session(recorder, &sink);
  session.StartDrain();

  std::mutex mutex;
  std::set<const Writer*> states;
  std::set<uint32_t> ids;
  const auto churn = [&](int count) {
    for (int i = 0; i < count; ++i) {
      OnThread([&] {
        {
          FERRET_SCOPE("short life");
          const Scope named("named in a short life");
        }
        Instant("last words");
        std::lock_guard<std::mutex> lock(mutex);
        states.insert(t_writer);
        ids.insert(ThreadId());
      });
    }
  };
  churn(500);
  ASSERT_TRUE(session.Flush());
  const int64_t before = ResidentBytes();
  std::vector<std::thread> starters;
  for (int i = 0; i < kStarters; ++i) starters.emplace_back([&] { churn(kThreads); });
  for (std::thread& thread : starters) thread.join();
  const int64_t grown = ResidentBytes() - before;
  session.Stop();

  constexpr uint64_t kAll = 500 + kStarters * kThreads;
  EXPECT_EQ(last_words, kAll);
  EXPECT_EQ(sink.All().scopes, 2 * kAll);
  EXPECT_EQ(sink.All().truncated, 0u);
  EXPECT_EQ(ids.size(), kAll) << "ids are never used twice";
  // A thread's state is free again only when it has gone through its destructors, which join() waits for.
  EXPECT_LE(states.size(), static_cast<size_t>(kStarters + 1));
  EXPECT_EQ(ThreadRegistry::Global().live_threads(), live);
  EXPECT_LT(grown, kMemoryFactor * (40 << 20)) << "10 MiB of it are the sets of this test";
  std::printf("FIGURE: storm of threads: %llu short threads, %llu scopes, none lost; %zu states of threads, memory grew by "
              "%lld KiB\n",
              static_cast<unsigned long long>(kAll), static_cast<unsigned long long>(sink.All().scopes), states.size(),
              static_cast<long long>(grown >> 10));
}

// The pool of another session: states keep their token and must get one for the queue that is now drained.
TEST(ThreadChurn, StatesThatAreUsedAgainInAnotherSessionReachItsDrain) {
  for (const uint32_t chunks : {8u, 8u, 16u, 8u}) {
    Recorder* const recorder = NewRecorder({.chunks = chunks});
    CountingSink sink;
    TestSession session(recorder, &sink);
    session.StartDrain();
    for (int i = 0; i < 20; ++i) {
      OnThread([] { FERRET_SCOPE("another session"); });
      ASSERT_TRUE(session.Flush());
    }
    session.Stop();
    EXPECT_EQ(sink.All().scopes, 20u);
  }
}

}  // namespace
}  // namespace ferret::internal
