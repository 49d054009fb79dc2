// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Names that do not fit into the name table: they travel in their records. The process's table is filled up first, so
// these tests have a process of their own.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ferret/internal/adapter.h"
#include "runtime/record/name_table.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

class InlineNames : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (uint32_t i = 0; i < NameTable::kMaxNames; ++i) InternName("filler " + std::to_string(i));
    ASSERT_EQ(InternName("no room"), 0u);
  }

  std::vector<ReadRecord> Record(const std::function<void()>& body, uint32_t chunks = 64) {
    Recorder* const recorder = NewRecorder({.chunks = chunks});
    OnThread([&] {
      const RecordingOn on(recorder);
      body();
    });
    HandDrain drain(recorder);
    return Walk(drain.Chunks());
  }
};

TEST_F(InlineNames, EveryRecordWithANameTakesItAlong) {
  const std::vector<ReadRecord> read = Record([] {
    { const Scope scope("a scope"); }
    { const OpScope op("an op, longer than a word", ForwardOp(5)); }
    { const Annotation annotation("12345678"); }
    BeginAsync("async");
    Instant("an instant");
    Counter("a counter", 2.5);
    SetThreadName("a thread");
  });
  ASSERT_EQ(read.size(), 11u);
  EXPECT_EQ(InlineText(read[0]), "a scope");
  EXPECT_EQ(InlineText(read[2]), "an op, longer than a word");
  EXPECT_EQ(read[2].more[0], 5u);
  EXPECT_EQ(InlineText(read[4]), "12345678");
  EXPECT_EQ(read[4].flags, kUserAnnotation | kInlineName);
  EXPECT_EQ(InlineText(read[6]), "async");
  EXPECT_EQ(read[6].flags, kAsync | kInlineName);
  EXPECT_EQ(InlineText(read[7]), "an instant");
  EXPECT_EQ(InlineText(read[8]), "a counter");
  EXPECT_EQ(InlineText(read[9]), "a thread");
  for (const ReadRecord& record : read) EXPECT_EQ(record.payload == 0, record.type != RecordType::kScopeEnd);
}

TEST_F(InlineNames, TextIsCutAtOneKibibyteAndCounted) {
  const uint64_t refused = NameTable::Global().refused();
  const std::string name(3000, 'x');
  const std::vector<ReadRecord> read = Record([&] {
    const Scope scope(name);
    Instant(name.substr(0, kMaxInlineName));
  });
  EXPECT_EQ(InlineText(read.at(0)), name.substr(0, kMaxInlineName));
  EXPECT_EQ(InlineText(read.at(1)), name.substr(0, kMaxInlineName));
  EXPECT_EQ(NameTable::Global().refused(), refused + 2);
}

TEST_F(InlineNames, PaddingIsZero) {
  for (size_t length = 0; length <= 17; ++length) {
    const std::vector<ReadRecord> read = Record([&] { Instant(std::string(length, '\xff')); });
    ASSERT_EQ(read.at(0).more.size(), 1 + (length + 7) / 8);
    EXPECT_EQ(InlineText(read.at(0)), std::string(length, '\xff'));
    if (length % 8 == 0) continue;
    EXPECT_EQ(read.at(0).more.back() >> (length % 8 * 8), 0u);
  }
}

TEST_F(InlineNames, ASiteWhoseNameDoesNotFitGoesOnWithIt) {
  static Site site{"a literal without room", RecordType::kScopeBegin, kUserAnnotation};
  static Site op_site{"an op literal without room", RecordType::kOpBegin, 0};
  const std::vector<ReadRecord> read = Record([] {
    for (int i = 0; i < 100; ++i) {
      const Scope scope(site);
      const OpScope op(op_site, ForwardOp(i));
    }
  });
  EXPECT_EQ(site.header.load(), 0u);
  ASSERT_EQ(CountOf(read, RecordType::kScopeBegin), 100u);
  ASSERT_EQ(CountOf(read, RecordType::kOpBegin), 100u);
  for (size_t i = 0; i < 400; i += 4) {
    EXPECT_EQ(InlineText(read[i]), "a literal without room");
    EXPECT_EQ(InlineText(read[i + 1]), "an op literal without room");
    EXPECT_EQ(read[i + 1].more[0], i / 4);
  }
}

// At every distance from the end of a chunk, for every length: a whole record here, or in the next chunk.
TEST_F(InlineNames, FitAtEveryAlignmentNearTheEndOfTheChunk) {
  for (const size_t length : {size_t{0}, size_t{3}, size_t{8}, size_t{100}, size_t{1017}, size_t{1024}, size_t{2000}}) {
    for (int phase = 0; phase < 3; ++phase) {
      const std::string name(length, 'n');
      uint64_t written = 0;
      const std::vector<ReadRecord> read = Record(
          [&] {
            for (int i = 0; i < phase; ++i) Step(1);
            // Some chunks full, with the end of each met at another distance.
            for (int i = 0; i < 400; ++i) {
              const OpScope op(name, ForwardOp(i));
              if (i % 3 == 0) Step(1);
              ++written;
            }
          },
          256);
      uint64_t found = 0;
      for (const ReadRecord& record : read) {
        if (record.type != RecordType::kOpBegin) continue;
        ASSERT_EQ(InlineText(record), name.substr(0, kMaxInlineName));
        ASSERT_EQ(record.more[0], found++);
      }
      EXPECT_EQ(found, written);
    }
  }
}

TEST_F(InlineNames, AreDeliveredAsText) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  uint64_t right = 0;
  sink.on_event = [&](const FunctionEvent& event) { right += event.name == "delivered inline" && event.name_id == 0; };
  TestSession session(recorder, &sink);
  OnThread([] {
    for (int i = 0; i < 10; ++i) const Scope scope("delivered inline");
  });
  session.Stop();
  EXPECT_EQ(right, 10u);
}

TEST_F(InlineNames, NamesOfTheTableAreStillFound) {
  const std::vector<ReadRecord> read = Record([] { Instant("filler 1234"); });
  EXPECT_EQ(NameTable::Global().Text(read.at(0).payload), "filler 1234");
  EXPECT_EQ(read.at(0).flags, kNoFlags);
}

}  // namespace
}  // namespace ferret::internal
