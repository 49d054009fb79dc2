// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads have Ferret's ids until a framework's are known. Both count from 1: they must never be taken for one another.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/drain/drain_harness.h"

namespace ferret::internal {
namespace {

const OpRecord kForward{3, 0, RecordScope::kFunction};

OpRecord BackwardOf(uint32_t thread) { return {3, thread, RecordScope::kBackwardFunction}; }

std::set<std::pair<std::string, std::string>> Arrows(const CollectingSink& sink) {
  std::set<std::pair<std::string, std::string>> arrows;
  for (const ForwardBackwardLink& link : sink.links) {
    arrows.emplace(sink.ById(link.forward_id)->name, sink.ById(link.backward_id)->name);
  }
  return arrows;
}

TEST(ThreadIdentity, IsAnnouncedBeforeTheFirstEventOfAThread) {
  DrainHarness harness(2);
  harness.thread(2).Scope(10, 20, "a");
  harness.Pass(30);
  harness.thread(2).CutChunk();
  harness.thread(2).Scope(40, 50, "b");
  harness.Finish(60);
  ASSERT_EQ(harness.sink.threads.size(), 1u);
  EXPECT_EQ(harness.sink.threads[0].thread, 2u);
  EXPECT_EQ(harness.sink.threads[0].previous_thread, 0u);
  EXPECT_EQ(harness.sink.threads[0].os_tid, DrainHarness::kNoSuchTid + 2);
}

TEST(ThreadIdentity, ChangesToTheFrameworksWithANoticeOfTheOldOne) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(10, 20, "before");
  harness.Pass(30);
  thread.set_framework_thread(77);
  thread.CutChunk();
  thread.Scope(40, 50, "after");
  thread.Instant(55, "moment");
  thread.CutChunk();
  thread.Scope(60, 70, "same id");
  harness.Pass(80);
  thread.set_framework_thread(0);
  thread.CutChunk();
  thread.Scope(90, 95, "on its own again");
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("before").thread, 1u);
  EXPECT_EQ(harness.sink.Named("after").thread, 77u);
  EXPECT_EQ(harness.sink.instants.at(0).thread, 77u);
  EXPECT_EQ(harness.sink.Named("on its own again").thread, 1u);
  ASSERT_EQ(harness.sink.threads.size(), 3u);
  EXPECT_EQ(harness.sink.threads[1].thread, 77u);
  EXPECT_EQ(harness.sink.threads[1].previous_thread, 1u);
  EXPECT_EQ(harness.sink.threads[2].thread, 1u);
  EXPECT_EQ(harness.sink.threads[2].previous_thread, 77u);
}

// Ferret's thread 1 is the framework's 2 and the other way round, and both use number 3.
TEST(ThreadIdentity, NumbersOfTheTwoKindsAreNeverLinkedWithEachOther) {
  DrainHarness harness(2);
  harness.thread(1).set_framework_thread(2);
  harness.thread(2).set_framework_thread(1);
  harness.thread(1).OpScope(10, 20, "program op on 1", kForward);
  harness.thread(2).OpScope(11, 21, "program op on 2", kForward);
  harness.thread(1).OpScope(30, 40, "torch op on 1", kForward, kFrameworkThreads);
  harness.thread(2).OpScope(31, 41, "torch op on 2", kForward, kFrameworkThreads);
  harness.Pass(50);
  // Each names thread 2 in its own counting.
  harness.thread(1).OpScope(60, 70, "torch backward", BackwardOf(2), kFrameworkThreads);
  harness.thread(1).OpScope(71, 79, "program backward", BackwardOf(2));
  harness.Finish(90);
  EXPECT_EQ(Arrows(harness.sink), (std::set<std::pair<std::string, std::string>>{
                                      {"torch op on 1", "torch backward"}, {"program op on 2", "program backward"}}));
  // Both are shown in the framework's counting.
  EXPECT_EQ(harness.sink.Named("torch op on 1").thread, 2u);
  EXPECT_EQ(harness.sink.Named("program op on 2").thread, 1u);
  EXPECT_EQ(harness.sink.Named("torch backward").fwd_thread, 2u);
  EXPECT_EQ(harness.sink.Named("program backward").fwd_thread, 1u);
}

TEST(ThreadIdentity, LinksOfAProgramSurviveThatTheFrameworksIdsComeInBetween) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.OpScope(10, 20, "forward", kForward);
  harness.Pass(25);
  thread.set_framework_thread(9);
  thread.CutChunk();
  thread.OpScope(30, 40, "backward", BackwardOf(1));
  harness.Finish(50);
  EXPECT_EQ(Arrows(harness.sink), (std::set<std::pair<std::string, std::string>>{{"forward", "backward"}}));
  EXPECT_EQ(harness.sink.Named("backward").fwd_thread, 9u);
}

TEST(ThreadIdentity, OfAForwardThreadIsRememberedAfterItsExit) {
  DrainHarness harness(2);
  harness.thread(1).set_framework_thread(9);
  harness.thread(1).OpScope(10, 20, "forward", kForward);
  harness.thread(1).Exit(25);
  for (uint64_t now : {30, 40}) harness.Pass(now);
  harness.thread(2).OpScope(50, 60, "backward", BackwardOf(1));
  harness.Finish(70);
  EXPECT_EQ(Arrows(harness.sink), (std::set<std::pair<std::string, std::string>>{{"forward", "backward"}}));
  EXPECT_EQ(harness.sink.Named("backward").fwd_thread, 9u);
}

TEST(ThreadIdentity, OfAWrapperIsCountedAsThatOfItsBackwardOp) {
  DrainHarness harness(2);
  harness.thread(1).set_framework_thread(2);
  harness.thread(2).set_framework_thread(1);
  harness.thread(1).OpScope(10, 20, "torch op", kForward, kFrameworkThreads);
  harness.Pass(25);
  const uint32_t wrapper = harness.thread(2).Begin(30, "wrapper", kInheritsBackward | kFrameworkThreads);
  harness.thread(2).OpScope(31, 40, "backward", BackwardOf(2), kFrameworkThreads);
  harness.thread(2).End(45, wrapper);
  harness.Finish(50);
  EXPECT_EQ(harness.sink.Named("wrapper").fwd_thread, 2u);
  EXPECT_EQ(harness.sink.Named("wrapper").sequence_nr, 3);
  EXPECT_EQ(harness.builder().linker().unmatched(), 0u);
  EXPECT_EQ(Arrows(harness.sink), (std::set<std::pair<std::string, std::string>>{{"torch op", "backward"}}));
}

TEST(ThreadIdentity, ANameThatTheProgramGivesIsPassedOn) {
  DrainHarness harness(1);
  harness.thread(1).Scope(10, 20, "a");
  harness.thread(1).Write({RecordHeader(RecordType::kThreadName, kThreadNameBytes, kNoFlags, NameId("loader 3")), 30});
  harness.Finish(40);
  ASSERT_EQ(harness.sink.threads.size(), 2u);
  EXPECT_EQ(harness.sink.threads[1].name, "loader 3");
  EXPECT_EQ(harness.sink.threads[1].previous_thread, 0u);
}

}  // namespace
}  // namespace ferret::internal
