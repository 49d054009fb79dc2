// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where in a chunk which record may still go, on the inlined path and out of line.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ferret/internal/adapter.h"
#include "runtime/record/name_table.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

uint32_t Position() { return static_cast<uint32_t>(t_writer->cursor - t_writer->chunk); }
uint32_t RoomForBegins() { return CurrentState()->current->begin_limit() - Position(); }

Site g_scope{"limits", RecordType::kScopeBegin, 0};
Site g_op{"limits op", RecordType::kOpBegin, 0};

// Moves on to where `bytes`, a multiple of 8, are left for begins, by counters of 24 and instants of 16 bytes.
void FillUpTo(uint32_t bytes) {
  ASSERT_GE(RoomForBegins(), bytes + 4096 / 2);
  // Inlined names are reserved for before they are looked up, so steps, which have none, go to the very end.
  while ((RoomForBegins() - bytes) % kStepBytes != 0) {
    BeginScope(g_scope);
  }
  while (RoomForBegins() > bytes) Step(1);
  ASSERT_EQ(RoomForBegins(), bytes);
}

// In a fresh thread with one chunk to write into, of the two there are: the test's to hold or to free.
class Limits : public ::testing::TestWithParam<bool> {
 protected:
  void InOneChunk(const std::function<void()>& body) {
    recorder_ = NewRecorder({.chunks = 1});
    OnThread([&] {
      const RecordingOn on(recorder_, GetParam());
      FERRET_SCOPE("attach");
      BeginScope(g_scope);  // registers
      BeginOp(g_op, {1, 0, 0});
      ASSERT_NE(CurrentState(), nullptr);
      body();
    });
  }
  Recorder* recorder_ = nullptr;
};

TEST_P(Limits, TheEndReserveTakesThirtyTwoEndsAndNoMore) {
  InOneChunk([] {
    std::vector<ScopeEnd> ends;
    while (const ScopeEnd end = BeginScope(g_scope)) ends.push_back(end);
    ASSERT_GT(ends.size(), 40u);
    const uint32_t before = Position();
    EXPECT_EQ(before, CurrentState()->current->begin_limit());
    for (int i = 0; i < 32; ++i) {
      EndScope(ends[ends.size() - 1 - static_cast<size_t>(i)]);
      ASSERT_EQ(Position(), before + kEndBytes * static_cast<uint32_t>(i + 1));
    }
    EndScope(ends[0]);
    EXPECT_EQ(Position(), before + kEndReserveBytes) << "the 33rd end finds no room";
    EXPECT_EQ(Position() + kThreadExitBytes, kMinChunkBytes) << "what is left is the thread-exit record's";
  });
  HandDrain drain(recorder_);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  EXPECT_EQ(read.back().type, RecordType::kThreadExit);
  EXPECT_EQ(drain.Chunks().at(0)->write_offset.load(), kMinChunkBytes);
}

TEST_P(Limits, ABeginOfSixteenBytesGoesIntoTheLastSixteenBytes) {
  InOneChunk([] {
    FillUpTo(16);
    EXPECT_TRUE(BeginScope(g_scope));
    EXPECT_EQ(RoomForBegins(), 0u);
    EXPECT_FALSE(BeginScope(g_scope));
  });
}

TEST_P(Limits, ABeginOfSixteenBytesIsRefusedWhenEightAreLeft) {
  InOneChunk([] {
    FillUpTo(8);
    EXPECT_FALSE(BeginScope(g_scope));
    EXPECT_EQ(RoomForBegins(), 8u);
  });
}

TEST_P(Limits, AnOpBeginGoesIntoTheLastThirtyTwoBytesAndNotIntoLess) {
  InOneChunk([] {
    FillUpTo(32);
    EXPECT_TRUE(BeginOp(g_op, {7, 0, 0}));
    EXPECT_EQ(RoomForBegins(), 0u);
  });
  InOneChunk([] {
    FillUpTo(24);
    EXPECT_FALSE(BeginOp(g_op, {7, 0, 0}));
    EXPECT_TRUE(BeginScope(g_scope)) << "a smaller one still fits";
  });
}

// A name that is looked up may have to go inline, up to 1 KiB of it: at every distance from the end of the chunk the
// record fits or is refused, whole.
TEST_P(Limits, NamesLookedUpAtEveryDistanceFromTheEndFitOrAreRefused) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{500}, size_t{1023},
                              size_t{1024}, size_t{1025}, size_t{5000}}) {
    const std::string name(length, 'n');
    const uint32_t text = 8 + static_cast<uint32_t>((std::min<size_t>(length, kMaxInlineName) + 7) / 8 * 8);
    for (const uint32_t slack : {0u, 8u, 16u}) {
      for (const bool fits : {true, false}) {
        InOneChunk([&] {
          const uint32_t worst = kBeginBytes + text;
          if (!fits && worst + slack < 16) return;
          FillUpTo(fits ? worst + slack : worst - 8 - slack % 8);
          EXPECT_EQ(static_cast<bool>(BeginNamed(name, 0)), fits) << length << " bytes, slack " << slack;
        });
        HandDrain drain(recorder_);
        Walk(drain.Chunks());
      }
    }
  }
}

// It ends a scope that reserved nothing here, perhaps one of another thread.
TEST_P(Limits, ARemoteEndLeavesTheReserveToTheThreadsOwnScopes) {
  InOneChunk([] {
    const AsyncScope scope = BeginAsync("remote");
    ASSERT_NE(scope.handle, 0u);
    std::vector<ScopeEnd> ends;
    for (int i = 0; i < 32; ++i) ends.push_back(BeginScope(g_scope));
    for (uint32_t before = 0; before != Position();) {
      before = Position();
      EndAsync(scope);
    }
    EXPECT_LE(RoomForBegins(), kRemoteEndBytes);
    for (; !ends.empty(); ends.pop_back()) EndScope(ends.back());
  });
  HandDrain drain(recorder_);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  EXPECT_GT(CountOf(read, RecordType::kRemoteEnd), 50u);
  EXPECT_EQ(CountOf(read, RecordType::kScopeEnd), 32u + 1);
  EXPECT_EQ(read.back().type, RecordType::kThreadExit);
}

// A new chunk is taken before the old one is left, and the old one is then sealed at its last record.
TEST_P(Limits, RecordsNeverStraddleChunks) {
  Recorder* const recorder = NewRecorder({.chunks = 64});
  OnThread([&] {
    const RecordingOn on(recorder, GetParam());
    for (int i = 0; i < 5000; ++i) {
      const OpScope op(g_op, ForwardOp(i));
      const Scope scope("a name of its own");
    }
  });
  HandDrain drain(recorder);
  ASSERT_GT(drain.Chunks().size(), 20u);
  int64_t next = 0;
  for (const Chunk* chunk : drain.Chunks()) {
    for (const ReadRecord& record : Walk(*chunk)) {
      if (record.type != RecordType::kOpBegin) continue;
      EXPECT_EQ(static_cast<int64_t>(record.more[0]), next++);
    }
  }
}

std::string ClockName(const ::testing::TestParamInfo<bool>& tested) {
  return tested.param ? "CycleCounter" : "MonotonicClock";
}
INSTANTIATE_TEST_SUITE_P(Clocks, Limits, ::testing::Bool(), ClockName);

}  // namespace
}  // namespace ferret::internal
