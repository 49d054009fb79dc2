// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the drain does at its bounds and with records that no recording thread writes.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/drain/drain_harness.h"

namespace ferret::internal {
namespace {

// The words of a record with its name inline; `claimed` is the length that it says the text has.
std::vector<uint64_t> InlineRecord(RecordType type, std::vector<uint64_t> fixed, const std::string& text,
                                   uint64_t claimed, uint8_t flags = kNoFlags) {
  std::vector<uint64_t> words(1);
  words.insert(words.end(), fixed.begin(), fixed.end());
  words.push_back(claimed);
  words.resize(words.size() + (text.size() + 7) / 8);
  std::memcpy(words.data() + 2 + fixed.size(), text.data(), text.size());
  words[0] = RecordHeader(type, static_cast<uint32_t>(words.size() * 8), flags | kInlineName, 0);
  return words;
}

TEST(DrainBounds, LinksEarlyWhenTooManyBackwardOpsWait) {
  EventBuilder::Config config;
  config.max_waiting_ops = 10;
  DrainHarness harness(2, config);
  // Thread 2 may still bring forward ops from before tick 50, so that the backward ops of thread 1 wait.
  harness.thread(2).Scope(10, 20, "seen");
  harness.Pass(15);
  for (int64_t i = 0; i < 25; ++i) {
    harness.thread(1).OpScope(100, 101, "forward", {i, 0, RecordScope::kFunction});
    harness.thread(1).OpScope(102, 103, "backward", {i, 1, RecordScope::kBackwardFunction});
  }
  harness.Pass(50);
  EXPECT_EQ(harness.builder().linker().hurried(), 22u);
  EXPECT_EQ(harness.builder().linker().waiting(), 3u);
  harness.Finish(200);
  EXPECT_EQ(harness.sink.links.size(), 25u);
  EXPECT_EQ(harness.builder().linker().unmatched(), 0u);
}

TEST(DrainBounds, ForgetsTheOldestForwardOpsAndCountsThem) {
  EventBuilder::Config config;
  config.link_table_entries = 1000;
  DrainHarness harness(1, config);
  constexpr int64_t kOps = 100'000;
  for (int64_t i = 0; i < kOps; ++i) {
    harness.thread(1).OpScope(10, 10, "forward", {i, 0, RecordScope::kFunction});
    if (i % 1000 == 0) harness.Pass(11);
  }
  for (int64_t i = kOps; i-- > 0;) {
    harness.thread(1).OpScope(20, 20, "backward", {i, 1, RecordScope::kBackwardFunction});
    if (i % 1000 == 0) harness.Pass(21);
  }
  harness.Finish(30);
  const Linker& linker = harness.builder().linker();
  EXPECT_GE(linker.made(), 1000u);
  EXPECT_LE(linker.made(), 2000u + LinkTable::kFirstSlots);
  EXPECT_EQ(linker.made() + linker.evicted(), static_cast<uint64_t>(kOps));
  EXPECT_EQ(linker.unmatched(), linker.evicted());
  EXPECT_EQ(harness.sink.events.size(), static_cast<size_t>(2 * kOps));
}

TEST(DrainBounds, SkipsRecordsOfUnknownTypesByTheirLengthAndCountsThem) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t scope = thread.Begin(10, "scope");
  for (uint32_t type : {0u, 99u, 200u, 255u}) {
    const uint64_t header = uint64_t{type} << 16 | (3 + type % 5) | uint64_t{0xff} << 24;
    std::vector<uint64_t> words(3 + type % 5, RecordHeader(RecordType::kScopeBegin, kBeginBytes, kNoFlags, 1));
    words[0] = header;
    words[1] = 20;
    thread.Write(words.data(), words.size());
  }
  thread.End(30, scope);
  harness.Finish(40);
  EXPECT_EQ(harness.builder().unknown_records(), 4u);
  ASSERT_EQ(harness.sink.events.size(), 1u);
  EXPECT_EQ(harness.sink.events[0].end_ns, 30);
}

TEST(DrainBounds, HoldsAClockThatGoesBackAndCountsIt) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(100, "outer");
  const uint32_t inner = thread.Begin(90, "inner");
  thread.End(80, inner);
  thread.CutChunk();
  thread.Scope(95, 120, "next");
  thread.End(110, outer);
  harness.Finish(200);
  EXPECT_EQ(harness.builder().clock_backward(), 4u);
  EXPECT_EQ(harness.sink.Named("inner").start_ns, 100);
  EXPECT_EQ(harness.sink.Named("inner").end_ns, 100);
  EXPECT_EQ(harness.sink.Named("next").start_ns, 100);
  EXPECT_EQ(harness.sink.Named("next").end_ns, 120);
  EXPECT_EQ(harness.sink.Named("outer").end_ns, 120);
}

TEST(DrainBounds, KeepsNamesThatDidNotFitIntoTheTable) {
  DrainHarness harness(1, {1024, 1024, 2});
  ThreadWriter& thread = harness.thread(1);
  const std::string longest(kMaxInlineName, 'x');
  const auto write = [&](const std::vector<uint64_t>& words) { thread.Write(words.data(), words.size()); };
  write(InlineRecord(RecordType::kScopeBegin, {10}, "plain", 5, kUserAnnotation));
  write(InlineRecord(RecordType::kOpBegin, {20, 4, 0}, "op", 2));
  write(InlineRecord(RecordType::kOpBegin, {25, 4, 1 | uint64_t{1} << 32}, longest, longest.size()));
  write(InlineRecord(RecordType::kInstant, {30}, std::string("nul\0byte", 8), 8));
  write(InlineRecord(RecordType::kCounter, {31, 0}, "", 0));
  harness.Finish(40);
  EXPECT_EQ(harness.sink.Named("plain").name_id, 0u);
  EXPECT_TRUE(harness.sink.Named("plain").is_user_annotation);
  EXPECT_EQ(harness.sink.Named("op").sequence_nr, 4);
  EXPECT_EQ(harness.sink.Named(longest).fwd_thread, 1u);
  ASSERT_EQ(harness.sink.instants.size(), 2u);
  EXPECT_EQ(harness.sink.instants[0].name, std::string_view("nul\0byte", 8));
  EXPECT_EQ(harness.sink.instants[1].name, "");
}

TEST(DrainBounds, ReadsNoTextFromBeyondItsRecord) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const auto write = [&](const std::vector<uint64_t>& words) { thread.Write(words.data(), words.size()); };
  // Says more than the record holds.
  write(InlineRecord(RecordType::kInstant, {10}, "12345678", 9));
  write(InlineRecord(RecordType::kInstant, {10}, "12345678", std::numeric_limits<uint64_t>::max()));
  // No room for a text, nor for its length: what follows is the next record.
  write(InlineRecord(RecordType::kInstant, {10}, "", 1000));
  const uint64_t secret = 16;
  thread.Write({RecordHeader(RecordType::kInstant, kInstantBytes, kInlineName, 0), 10});
  thread.Write({RecordHeader(RecordType::kInstant, kInstantBytes, kNoFlags, 0), secret});
  thread.Write({RecordHeader(RecordType::kScopeBegin, kBeginBytes, kInlineName, 0), 20});
  thread.Write({RecordHeader(RecordType::kThreadName, kThreadNameBytes, kInlineName, 0), 20});
  thread.Write({RecordHeader(RecordType::kOpBegin, kOpBeginBytes, kInlineName, 0), 20, 1, 0});
  thread.Write({RecordHeader(RecordType::kCounter, kCounterBytes, kInlineName, 0), 20, 0});
  harness.Finish(30);
  ASSERT_EQ(harness.sink.instants.size(), 6u);
  EXPECT_EQ(harness.sink.instants[0].name, "12345678");
  EXPECT_EQ(harness.sink.instants[1].name, "12345678");
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(harness.sink.instants[i].name, "") << i;
  ASSERT_EQ(harness.sink.events.size(), 2u);
  for (const FunctionEvent& event : harness.sink.events) EXPECT_EQ(event.name, "");
}

TEST(DrainBounds, ShowsWhereScopesWereLost) {
  DrainHarness harness(1);
  harness.thread(1).Scope(10, 20, "a");
  harness.thread(1).Loss(50, LossReason::kPoolExhausted, 12, 30);
  harness.Finish(60);
  ASSERT_EQ(harness.sink.instants.size(), 1u);
  EXPECT_EQ(harness.sink.instants[0].kind, InstantEvent::Kind::kLoss);
  EXPECT_EQ(harness.sink.instants[0].name, "pool_exhausted");
  EXPECT_EQ(harness.sink.instants[0].value, 12);
  EXPECT_EQ(harness.sink.instants[0].since_ns, 30);
  EXPECT_EQ(harness.sink.instants[0].time_ns, 50);
  EXPECT_EQ(harness.sink.count, 1u);
}

TEST(DrainBounds, FewChunksServeAnEndlessStreamAndManyThreads) {
  DrainHarness harness(50, {}, 51);
  for (uint32_t round = 0; round < 400; ++round) {
    const uint64_t now = 10 + round * 10;
    ThreadWriter& thread = harness.thread(1 + round % 49);
    for (int i = 0; i < 100; ++i) thread.Scope(now, now + 5, "scope");
    harness.Pass(now + 9);
  }
  harness.Finish(10'000);
  EXPECT_EQ(harness.sink.events.size(), 40'000u);
  EXPECT_LE(harness.pool().chunks_used(), 51u);
}

}  // namespace
}  // namespace ferret::internal
