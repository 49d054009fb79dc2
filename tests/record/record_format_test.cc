// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "ferret/internal/record_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ferret/internal/adapter.h"
#include "runtime/drain/drain.h"
#include "runtime/record/name_table.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

constexpr RecordType kAllTypes[] = {RecordType::kScopeBegin, RecordType::kOpBegin, RecordType::kScopeEnd,
                                    RecordType::kRemoteEnd,  RecordType::kInstant, RecordType::kCounter,
                                    RecordType::kStep,       RecordType::kThreadName, RecordType::kLoss,
                                    RecordType::kThreadExit};

TEST(RecordFormat, AHeaderGivesBackItsFourFields) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const RecordType type = kAllTypes[random() % std::size(kAllTypes)];
    const uint32_t bytes = static_cast<uint32_t>(random() % 65'536) * 8;
    const auto flags = static_cast<uint8_t>(random());
    const auto payload = static_cast<uint32_t>(random());
    const uint64_t header = RecordHeader(type, bytes, flags, payload);
    ASSERT_EQ(TypeOf(header), type);
    ASSERT_EQ(RecordBytes(header), bytes);
    ASSERT_EQ(FlagsOf(header), flags);
    ASSERT_EQ(PayloadOf(header), payload);
  }
}

// Format constants are in files of processes that died; they do not move.
TEST(RecordFormat, AHeaderHasTheDocumentedBits) {
  EXPECT_EQ(RecordHeader(RecordType::kOpBegin, 32, 0x81, 0xabcdef01), 0xabcdef01'81'02'0004u);
  EXPECT_EQ(RecordHeader(RecordType::kThreadExit, kThreadExitBytes, 0, 0), 0x0000000a'0002u);
}

// Writes chunks of random records of every type and length through the API, and reads them back.
class RoundTrip : public ::testing::Test {
 protected:
  struct Written {
    RecordType type;
    uint64_t value;
  };

  void WriteOne() {
    const std::string name = "name " + std::to_string(random_() % 50);
    const uint64_t value = random_();
    switch (random_() % 6) {
      case 0: {
        const Scope scope(name);
        written_.push_back({RecordType::kScopeBegin, 0});
        if (random_() % 2 == 0) WriteOne();
        written_.push_back({RecordType::kScopeEnd, 0});
        break;
      }
      case 1: {
        const OpScope scope(name, ForwardOp(static_cast<int64_t>(value >> 1)));
        written_.push_back({RecordType::kOpBegin, value >> 1});
        written_.push_back({RecordType::kScopeEnd, 0});
        break;
      }
      case 2:
        Counter(name, static_cast<double>(value >> 12));
        written_.push_back({RecordType::kCounter, 0});
        doubles_.push_back(static_cast<double>(value >> 12));
        break;
      case 3:
        Instant(name);
        written_.push_back({RecordType::kInstant, 0});
        break;
      case 4:
        Step(value);
        written_.push_back({RecordType::kStep, value});
        break;
      case 5:
        SetThreadName(name);
        written_.push_back({RecordType::kThreadName, 0});
        break;
    }
  }

  std::mt19937_64 random_{7};
  std::vector<Written> written_;
  std::vector<double> doubles_;
};

TEST_F(RoundTrip, AWalkReturnsTheRecordsThatWereWritten) {
  Recorder* const recorder = NewRecorder({.chunks = 1024});
  HandDrain drain(recorder);
  OnThread([&] {
    const RecordingOn on(recorder);
    while (written_.size() < 30'000) WriteOne();
  });
  const std::vector<Chunk*>& chunks = drain.Chunks();
  const std::vector<ReadRecord> read = Walk(chunks);
  ASSERT_EQ(read.size(), written_.size() + 1);
  EXPECT_EQ(read.back().type, RecordType::kThreadExit);
  size_t counters = 0;
  uint64_t ticks = 0;
  for (size_t i = 0; i < written_.size(); ++i) {
    ASSERT_EQ(read[i].type, written_[i].type) << i;
    ASSERT_GE(read[i].ticks, ticks) << i;
    ticks = read[i].ticks;
    if (read[i].type == RecordType::kCounter) {
      double value;
      std::memcpy(&value, read[i].more.data(), sizeof(value));
      ASSERT_EQ(value, doubles_[counters++]);
    } else if (read[i].type == RecordType::kOpBegin || read[i].type == RecordType::kStep) {
      ASSERT_EQ(read[i].more[0], written_[i].value);
    }
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i]->sequence, i);
    EXPECT_EQ(chunks[i]->magic, kChunkMagic);
    EXPECT_EQ(chunks[i]->version, kRecordFormatVersion);
    EXPECT_EQ(chunks[i]->sealed.load(), 1u) << "the thread has exited";
  }
}

TEST_F(RoundTrip, WhatIsCountedAsUnreadIsWhatWasAttempted) {
  Recorder* const recorder = NewRecorder({.chunks = 1024});
  HandDrain drain(recorder);
  OnThread([&] {
    const RecordingOn on(recorder);
    while (written_.size() < 3000) WriteOne();
  });
  uint64_t attempts = 0;
  for (const Written& record : written_) {
    attempts += record.type == RecordType::kScopeBegin || record.type == RecordType::kOpBegin ||
                record.type == RecordType::kInstant || record.type == RecordType::kCounter;
  }
  uint64_t unread = 0;
  for (Chunk* chunk : drain.Chunks()) {
    chunk->read_offset = kChunkHeaderBytes;
    unread += Drain::CountUnread(*chunk);
  }
  EXPECT_EQ(unread, attempts);
}

TEST(RecordFormat, ScopesOpsAndAnnotationsCarryTheirFields) {
  Recorder* const recorder = NewRecorder({});
  HandDrain drain(recorder);
  AsyncScope async;
  OnThread([&] {
    const RecordingOn on(recorder);
    { FERRET_SCOPE("a literal"); }
    { FERRET_ANNOTATION("an annotation"); }
    { FERRET_OP_SCOPE("a backward op", BackwardOp(42, 7)); }
    { const Annotation annotation("made at run time"); }
    async = BeginAsync("elsewhere");
  });
  const uint32_t first_thread = drain.Chunks().at(0)->thread;
  OnThread([&] {
    const RecordingOn on(recorder);
    EndAsync(async);
  });
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  ASSERT_EQ(read.size(), 12u);
  const NameTable& names = NameTable::Global();
  EXPECT_EQ(names.Text(read[0].payload), "a literal");
  EXPECT_EQ(read[0].flags, kNoFlags);
  EXPECT_EQ(read[2].flags, kUserAnnotation);
  EXPECT_EQ(read[4].type, RecordType::kOpBegin);
  EXPECT_EQ(read[4].more[0], 42u);
  EXPECT_EQ(read[4].more[1], uint64_t{1} << 32 | 7) << "scope kBackwardFunction, forward thread 7";
  EXPECT_EQ(names.Text(read[6].payload), "made at run time");
  EXPECT_EQ(read[6].flags, kUserAnnotation);
  EXPECT_EQ(read[8].flags, kAsync);
  EXPECT_EQ(async.thread, first_thread);
  ASSERT_EQ(read[10].type, RecordType::kRemoteEnd);
  EXPECT_EQ(read[10].payload, async.handle);
  EXPECT_EQ(read[10].more[0], async.thread);
}

TEST(RecordFormat, WhileRecordingIsOffNothingIsWrittenAndNoStateIsMade) {
  OnThread([] {
    FERRET_SCOPE("off");
    const Scope dynamic("off too");
    Instant("off");
    Counter("off", 1);
    Step();
    EXPECT_EQ(BeginAsync("off").handle, 0u);
    EXPECT_EQ(ThreadId(), 0u);
    EXPECT_EQ(t_writer->kind, WriterKind::kNone);
  });
}

}  // namespace
}  // namespace ferret::internal
