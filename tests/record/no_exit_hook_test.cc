// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A process that has used up its 1,024 keys before Ferret came: there is no thread-exit hook.

#include <gtest/gtest.h>
#include <pthread.h>

#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

TEST(NoExitHook, ThreadsAreFoundGoneAndGiveBackWhatTheyHad) {
  pthread_key_t key;
  int keys = 0;
  while (pthread_key_create(&key, nullptr) == 0) ++keys;
  ASSERT_GT(keys, 0);
  // More threads than there are chunks: each has to wait until some are back.
  constexpr int kThreads = 100;
  Recorder* const recorder =
      NewRecorder({.chunks = 8, .policy = OverflowPolicy::kBlock, .block_limit_ns = 60'000'000'000});
  CountingSink sink;
  TestSession session(recorder, &sink, true, 1'000'000);
  session.StartDrain();
  for (int i = 0; i < kThreads; ++i) {
    OnThread([] { FERRET_SCOPE("one of many"); });
  }
  while (ThreadRegistry::Global().live_threads() != 0) ASSERT_TRUE(session.Flush());
  session.Stop();
  EXPECT_EQ(sink.All().scopes, static_cast<uint64_t>(kThreads));
  EXPECT_EQ(sink.All().truncated, 0u);
  EXPECT_EQ(sink.threads(), static_cast<size_t>(kThreads));
  EXPECT_EQ(LostBy(0).total(), 0u);
}

}  // namespace
}  // namespace ferret::internal
