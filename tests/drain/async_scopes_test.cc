// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Scopes that end on another thread than the one that began them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/drain/event_tree.h"

namespace ferret::internal {
namespace {

TEST(AsyncScopes, EndWhereverAndNestInNothing) {
  DrainHarness harness(2);
  const uint32_t outer = harness.thread(1).Begin(10, "outer");
  const uint32_t request = harness.thread(1).Begin(20, "request", kAsync);
  harness.thread(1).Scope(30, 40, "inner");
  harness.thread(1).End(50, outer);
  harness.thread(2).RemoteEnd(70, 1, request);
  harness.Finish(100);
  const FunctionEvent& event = harness.sink.Named("request");
  EXPECT_TRUE(event.is_async);
  EXPECT_FALSE(event.is_truncated);
  EXPECT_EQ(event.start_ns, 20);
  EXPECT_EQ(event.end_ns, 70);
  EXPECT_EQ(event.thread, 1u);
  EXPECT_EQ(harness.sink.Named("inner").parent_id, harness.sink.Named("outer").id);
  EXPECT_EQ(harness.sink.Named("outer").self_ns, 30);
  ExpectTree(harness.sink);
}

TEST(AsyncScopes, EndRightThoughTheEndIsReadBeforeTheBegin) {
  DrainHarness harness(2);
  harness.thread(2).RemoteEnd(70, 1, 5);
  harness.Pass(20);
  EXPECT_EQ(harness.sink.events.size(), 0u);
  harness.thread(1).Scope(30, 35, "before");
  EXPECT_EQ(harness.thread(1).Begin(40, "request", kAsync), 5u);
  harness.thread(1).Scope(80, 90, "after");
  harness.Pass(100);
  EXPECT_EQ(harness.sink.Named("request").end_ns, 70);
  EXPECT_TRUE(harness.sink.Named("request").is_async);
  harness.Finish(110);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), 0u);
  EXPECT_EQ(harness.sink.events.size(), 3u);
}

// Requests in a queue. What one costs does not grow with how many wait, or this takes minutes.
TEST(AsyncScopes, AHundredThousandAtOnceEndInTheOrderOfTheirBegins) {
  DrainHarness harness(2);
  constexpr uint32_t kScopes = 100'000;
  std::vector<uint32_t> handles;
  for (uint32_t i = 0; i < kScopes; ++i) {
    handles.push_back(harness.thread(1).Begin(10 + i, "request", kAsync));
    if (i % 1000 == 0) harness.Pass(10 + i);
  }
  for (uint32_t i = 0; i < kScopes; ++i) {
    harness.thread(2).RemoteEnd(kScopes + 20 + i, 1, handles[i]);
    if (i % 1000 == 0) harness.Pass(kScopes + 20 + i);
  }
  harness.Finish(3 * kScopes);
  ASSERT_EQ(harness.sink.events.size(), kScopes);
  for (const FunctionEvent& event : harness.sink.events) {
    ASSERT_FALSE(event.is_truncated);
    ASSERT_EQ(event.duration_ns(), kScopes + 10);
  }
}

TEST(AsyncScopes, NeverEndBeforeTheyBegan) {
  // Two processors' counters may differ by some ticks.
  DrainHarness harness(2);
  harness.thread(2).RemoteEnd(38, 1, 3);
  harness.Pass(20);
  harness.thread(1).Begin(40, "request", kAsync);
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("request").duration_ns(), 0);
}

TEST(AsyncScopes, EndAfterTheThreadThatBeganThemHasExited) {
  DrainHarness harness(2);
  const uint32_t request = harness.thread(1).Begin(10, "request", kAsync);
  harness.thread(1).Exit(20);
  for (uint64_t now : {30, 40, 50}) harness.Pass(now);
  harness.thread(2).RemoteEnd(60, 1, request);
  harness.Pass(70);
  EXPECT_EQ(harness.sink.Named("request").end_ns, 60);
  EXPECT_FALSE(harness.sink.Named("request").is_truncated);
}

TEST(AsyncScopes, ThatNobodyEndsEndWithTheSession) {
  DrainHarness harness(1);
  harness.thread(1).Begin(10, "request", kAsync);
  harness.thread(1).Exit(20);
  harness.Finish(90);
  const FunctionEvent& event = harness.sink.Named("request");
  EXPECT_TRUE(event.is_async && event.is_truncated);
  EXPECT_EQ(event.end_ns, 90);
  EXPECT_EQ(event.self_ns, 0);
}

TEST(AsyncScopes, EndedTwiceAreCounted) {
  DrainHarness harness(3);
  const uint32_t read_in_order = harness.thread(1).Begin(10, "read in order", kAsync);
  harness.thread(2).RemoteEnd(20, 1, read_in_order);
  harness.Pass(30);
  harness.thread(2).RemoteEnd(40, 1, read_in_order);
  harness.Pass(50);
  EXPECT_EQ(harness.sink.Named("read in order").end_ns, 20);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), 1u);

  harness.thread(2).RemoteEnd(70, 3, 3);
  harness.thread(2).RemoteEnd(80, 3, 3);
  harness.Pass(90);
  harness.thread(3).Begin(60, "ends read first", kAsync);
  harness.Pass(100);
  EXPECT_EQ(harness.sink.Named("ends read first").end_ns, 70);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), 2u);
  harness.Finish(110);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), 2u);
}

TEST(AsyncScopes, EndedOnTheirOwnThreadAreAsynchronousAllTheSame) {
  DrainHarness harness(1);
  const uint32_t request = harness.thread(1).Begin(10, "request", kAsync);
  harness.thread(1).RemoteEnd(20, 1, request);
  harness.Finish(90);
  EXPECT_TRUE(harness.sink.Named("request").is_async);
  EXPECT_EQ(harness.sink.Named("request").end_ns, 20);
}

TEST(AsyncScopes, AreWhatAScopeBecomesThatIsEndedOnAnotherThread) {
  DrainHarness harness(2);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(10, "outer");
  const uint32_t moved = thread.Begin(20, "moved");
  thread.Scope(25, 30, "closed inside");
  const uint32_t inside = thread.Begin(35, "open inside");
  harness.Pass(40);
  harness.thread(2).RemoteEnd(45, 1, moved);
  harness.Pass(50);
  thread.Scope(52, 55, "deeper");
  thread.End(60, inside);
  thread.Scope(65, 70, "after");
  thread.End(80, outer);
  harness.Finish(90);
  const FunctionEvent& event = harness.sink.Named("moved");
  EXPECT_TRUE(event.is_async);
  EXPECT_EQ(event.end_ns, 45);
  EXPECT_EQ(event.self_ns, 0);
  EXPECT_EQ(harness.sink.Named("open inside").parent_id, harness.sink.Named("outer").id);
  EXPECT_EQ(harness.sink.Named("after").parent_id, harness.sink.Named("outer").id);
  EXPECT_EQ(harness.sink.Named("open inside").self_ns, 22);
  // 70 less "closed inside", "open inside" and "after".
  EXPECT_EQ(harness.sink.Named("outer").self_ns, 70 - 5 - 25 - 5);
  ExpectTree(harness.sink);
}

TEST(AsyncScopes, ThatEndInBetweenDoNotPartAWrapperFromItsBackwardOp) {
  DrainHarness harness(2);
  ThreadWriter& thread = harness.thread(1);
  const OpRecord backward{7, 2, RecordScope::kBackwardFunction};
  const uint32_t request = thread.Begin(10, "request", kAsync);
  const uint32_t moved = thread.Begin(20, "moved");
  const uint32_t wrapper = thread.Begin(30, "evaluate_function", kInheritsBackward);
  harness.Pass(40);
  harness.thread(2).RemoteEnd(45, 1, request);
  harness.thread(2).RemoteEnd(46, 1, moved);
  harness.Pass(50);
  thread.OpScope(60, 70, "MulBackward0", backward);
  thread.End(80, wrapper);
  harness.Finish(90);
  EXPECT_EQ(harness.sink.Named("evaluate_function").sequence_nr, 7);
  EXPECT_EQ(harness.sink.Named("evaluate_function").fwd_thread, 2u);
}

TEST(AsyncScopes, AWrapperThatEndsElsewhereGivesItsInheritanceToNobody) {
  DrainHarness harness(2);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(10, "outer");
  const uint32_t wrapper = thread.Begin(20, "evaluate_function", kInheritsBackward);
  harness.Pass(30);
  harness.thread(2).RemoteEnd(35, 1, wrapper);
  harness.Pass(40);
  thread.OpScope(50, 60, "MulBackward0", {7, 2, RecordScope::kBackwardFunction});
  thread.End(70, outer);
  harness.Finish(90);
  EXPECT_EQ(harness.sink.Named("outer").sequence_nr, -1);
  EXPECT_EQ(harness.sink.Named("evaluate_function").sequence_nr, -1);
}

TEST(AsyncScopes, EndsThatWaitForTheirBeginsAreBoundedAndCounted) {
  constexpr uint32_t kBound = 65536, kMore = 1000;
  DrainHarness harness(2, {}, 1000);
  for (uint32_t i = 0; i < kBound + kMore; ++i) {
    harness.thread(1).RemoteEnd(10, 1000 + i, 3);
    if (i % 10000 == 0) harness.Pass(10);
  }
  harness.Pass(20);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), kMore);
  // An end whose begin is known needs no place.
  const uint32_t request = harness.thread(2).Begin(30, "request", kAsync);
  harness.Pass(35);
  harness.thread(1).RemoteEnd(40, 2, request);
  harness.Pass(50);
  EXPECT_EQ(harness.sink.Named("request").end_ns, 40);
  harness.Finish(60);
  EXPECT_EQ(harness.builder().unmatched_remote_ends(), kBound + kMore);
}

}  // namespace
}  // namespace ferret::internal
