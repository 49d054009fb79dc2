// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The handle of a scope is its number among the begins of its thread: written nowhere but at the start of chunks, so
// writer and reader must count alike.

#include <gtest/gtest.h>

#include <vector>

#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

Site g_site{"handles", RecordType::kScopeBegin, 0};

// Replays what the drain does: each begin counts, each end must name an open one.
void ExpectEndsMatchBegins(const std::vector<Chunk*>& chunks) {
  std::vector<uint32_t> open;
  uint32_t begins = chunks.at(0)->begins;
  for (const Chunk* chunk : chunks) {
    EXPECT_EQ(chunk->begins, begins) << "the count at the start of chunk " << chunk->sequence;
    for (const ReadRecord& record : Walk(*chunk)) {
      if (record.type == RecordType::kScopeBegin || record.type == RecordType::kOpBegin) {
        open.push_back(begins += 2);
      } else if (record.type == RecordType::kScopeEnd) {
        ASSERT_FALSE(open.empty());
        EXPECT_EQ(record.payload, open.back());
        EXPECT_EQ(record.payload % 2, 1u);
        open.pop_back();
      }
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Handles, CountTheBeginsOfTheThreadAlongItsChunks) {
  Recorder* const recorder = NewRecorder({});
  OnThread([&] {
    const RecordingOn on(recorder);
    for (int i = 0; i < 1000; ++i) {
      const Scope outer(g_site);
      const OpScope op("inner", ForwardOp(i));
      const Scope named("innermost");
      Instant("counts not");
    }
  });
  HandDrain drain(recorder);
  ASSERT_GT(drain.Chunks().size(), 10u);
  ExpectEndsMatchBegins(drain.Chunks());
}

TEST(Handles, ARefusedBeginHasNoHandleAndItsEndWritesNothing) {
  Recorder* const recorder = NewRecorder({.chunks = 1});
  OnThread([&] {
    const RecordingOn on(recorder);
    std::vector<ScopeEnd> ends;
    while (const ScopeEnd end = BeginScope(g_site)) ends.push_back(end);
    const ThreadState* const state = CurrentState();
    const char* const cursor = state->cursor;
    const uint64_t end_word = state->end_word;
    const ScopeEnd refused = BeginScope(g_site);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.handle(), 0u);
    EndScope(refused);
    EXPECT_FALSE(BeginNamed("refused too", 0));
    EXPECT_FALSE(BeginOpNamed("refused too", 0, {1, 0, 0}));
    EXPECT_EQ(BeginAsync("refused too").handle, 0u);
    EXPECT_EQ(state->cursor, cursor);
    EXPECT_EQ(state->end_word, end_word) << "a refused begin is not counted";
  });
}

TEST(Handles, WrapAroundAfterTwoToTheThirtyFirstBegins) {
  Recorder* const recorder = NewRecorder({});
  OnThread([&] {
    const RecordingOn on(recorder);
    { const Scope attach(g_site); }
    // As if the thread had begun all but a hundred scopes before.
    CurrentState()->end_word = RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, ~uint32_t{0} - 2 * 100);
    for (int i = 0; i < 150; ++i) {
      const Scope outer(g_site);
      const ScopeEnd end = BeginScope(g_site);
      EXPECT_TRUE(end);
      EXPECT_NE(end.handle(), 0u);
      EndScope(end);
      if (i < 100) continue;
      EXPECT_LT(end.handle(), 1000u) << "wrapped";
      EXPECT_EQ(TypeOf(end.word), RecordType::kScopeEnd) << "the carry leaves the word";
      EXPECT_EQ(RecordBytes(end.word), kEndBytes);
    }
  });
}

// The same through the real drain: every scope is matched over the wrap.
TEST(Handles, ScopesOverTheWrapAreDeliveredWhole) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  TestSession session(recorder, &sink);
  uint32_t thread = 0;
  OnThread([&] {
    thread = ThreadId();
    CurrentState()->end_word = RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, ~uint32_t{0} - 2 * 300);
    // The drain, which is not running yet, starts from what the first chunk says.
    CurrentState()->current->begins = PayloadOf(CurrentState()->end_word);
    for (int i = 0; i < 500; ++i) {
      const Scope outer(g_site);
      const Scope inner("inner");
    }
  });
  session.Stop();
  EXPECT_EQ(sink.Of(thread).scopes, 1000u);
  EXPECT_EQ(sink.Of(thread).truncated, 0u);
}

}  // namespace
}  // namespace ferret::internal
