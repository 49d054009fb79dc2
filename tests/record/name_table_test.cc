// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/name_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/hash/hash.h"
#include "ferret/internal/adapter.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

TEST(NameTable, EqualNamesHaveOneIdAndOthersHaveOthers) {
  NameTable table({100, 10'000});
  const uint32_t first = table.Intern("first");
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(table.Intern("second"), 2u);
  EXPECT_EQ(table.Intern(std::string("first")), first);
  EXPECT_EQ(table.Text(first), "first");
  EXPECT_EQ(table.size(), 2u);
}

TEST(NameTable, TakesAnyBytesAndNoBytes) {
  NameTable table({100, 10'000});
  const std::string_view odd("a\0b\xff\n", 5);
  EXPECT_EQ(table.Text(table.Intern(odd)), odd);
  EXPECT_NE(table.Intern("a"), table.Intern(odd)) << "a zero byte is no end";
  const uint32_t empty = table.Intern("");
  EXPECT_NE(empty, 0u);
  EXPECT_EQ(table.Intern(std::string_view()), empty) << "also without a pointer";
  EXPECT_EQ(table.Text(empty), "");
}

// What is interned may be freed or changed by its owner at once.
TEST(NameTable, CopiesTheText) {
  NameTable table({100, 10'000});
  std::string name(100, 'a');
  const uint32_t id = table.Intern(name);
  name.assign(100, 'b');
  EXPECT_EQ(table.Text(id), std::string(100, 'a'));
  EXPECT_NE(table.Intern(name), id);
}

TEST(NameTable, IsBoundedByTheNumberOfNames) {
  NameTable table({3, 10'000});
  EXPECT_EQ(table.Intern("1"), 1u);
  EXPECT_EQ(table.Intern("2"), 2u);
  EXPECT_EQ(table.Intern("3"), 3u);
  EXPECT_EQ(table.Intern("4"), 0u);
  EXPECT_EQ(table.Intern("4"), 0u) << "not remembered either";
  EXPECT_EQ(table.refused(), 2u);
  EXPECT_EQ(table.Intern("3"), 3u) << "what is there is still found";
  EXPECT_EQ(table.size(), 3u);
}

TEST(NameTable, IsBoundedByTheBytesOfAllNames) {
  NameTable table({100, 10});
  EXPECT_EQ(table.Intern("1234567"), 1u);
  EXPECT_EQ(table.Intern("1234"), 0u) << "four bytes do not go into three";
  EXPECT_EQ(table.Intern("890"), 2u) << "three do";
  EXPECT_EQ(table.Intern("x"), 0u);
  EXPECT_EQ(table.Intern(""), 3u);
  EXPECT_EQ(table.refused(), 2u);
  EXPECT_EQ(table.Text(2), "890");
}

TEST(NameTable, AMillionNamesTakeBoundedMemoryAndKeepTheIdsOfTheFirst) {
  NameTable table({});
  const int64_t before = ResidentBytes();
  const auto name = [](int i) { return "name number " + std::to_string(i); };
  for (int i = 0; i < 1'000'000; ++i) {
    const uint32_t id = table.Intern(name(i));
    ASSERT_EQ(id, i < static_cast<int>(NameTable::kMaxNames) ? static_cast<uint32_t>(i) + 1 : 0u);
  }
  EXPECT_LT(ResidentBytes() - before, kMemoryFactor * (32 << 20));
  EXPECT_EQ(table.size(), NameTable::kMaxNames);
  EXPECT_EQ(table.refused(), 1'000'000u - NameTable::kMaxNames);
  for (int i = 0; i < static_cast<int>(NameTable::kMaxNames); i += 97) {
    ASSERT_EQ(table.Text(static_cast<uint32_t>(i) + 1), name(i));
    ASSERT_EQ(table.Intern(name(i)), static_cast<uint32_t>(i) + 1);
  }
}

TEST(NameTable, ThreadsThatInternTheSameNamesGetTheSameIds) {
  NameTable table({10'000, 1'000'000});
  constexpr int kThreads = 4, kNames = 3000;
  std::vector<std::vector<uint32_t>> ids(kThreads, std::vector<uint32_t>(kNames));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const auto n = static_cast<size_t>(t % 2 == 0 ? i : kNames - 1 - i);
        const std::string name = "shared " + std::to_string(n);
        ids[static_cast<size_t>(t)][n] = table.Intern(name);
        EXPECT_EQ(table.Text(ids[static_cast<size_t>(t)][n]), name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[static_cast<size_t>(t)], ids[0]);
  EXPECT_EQ(table.size(), static_cast<uint32_t>(kNames));
}

// Names in records.
class Names : public ::testing::Test {
 protected:
  std::vector<ReadRecord> Record(const std::function<void()>& body) {
    Recorder* const recorder = NewRecorder({});
    OnThread([&] {
      const RecordingOn on(recorder);
      body();
    });
    HandDrain drain(recorder);
    return Walk(drain.Chunks());
  }
};

TEST_F(Names, ASiteIsRegisteredOnceByWhoeverComesFirst) {
  static Site site{"first come", RecordType::kScopeBegin, kUserAnnotation};
  Recorder* const recorder = NewRecorder({});
  const RecordingOn on(recorder);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < 4) {
      }
      const Scope scope(site);
    });
  }
  for (std::thread& thread : threads) thread.join();
  HandDrain drain(recorder);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  ASSERT_EQ(CountOf(read, RecordType::kScopeBegin), 4u);
  for (const ReadRecord& record : read) {
    if (record.type != RecordType::kScopeBegin) continue;
    EXPECT_EQ(record.payload, PayloadOf(site.header.load()));
    EXPECT_EQ(record.flags, kUserAnnotation);
  }
  EXPECT_EQ(NameTable::Global().Text(PayloadOf(site.header.load())), "first come");
}

TEST_F(Names, ADynamicNameHasTheIdOfTheLiteralWithTheSameText) {
  const std::vector<ReadRecord> read = Record([] {
    { FERRET_SCOPE("literal and dynamic"); }
    for (int i = 0; i < 3; ++i) const Scope scope(std::string("literal and dynamic"));
  });
  ASSERT_EQ(CountOf(read, RecordType::kScopeBegin), 4u);
  for (size_t i = 0; i < 8; i += 2) EXPECT_EQ(read[i].payload, read[0].payload);
  EXPECT_EQ(read[0].payload, InternName("literal and dynamic"));
}

// The cache is found by hash; two names with one hash must not become one.
TEST_F(Names, ACacheEntryOfAnotherNameWithTheSameHashIsNotTaken) {
  const std::vector<ReadRecord> read = Record([] {
    { const Scope scope("the other"); }
    const uint64_t hash = absl::Hash<std::string_view>()("mine");
    CurrentState()->names->entries[hash % NameCache::kEntries] = {hash, InternName("the other")};
    for (int i = 0; i < 2; ++i) const Scope scope("mine");
  });
  EXPECT_EQ(NameTable::Global().Text(read.at(0).payload), "the other");
  EXPECT_EQ(NameTable::Global().Text(read.at(2).payload), "mine");
  EXPECT_EQ(NameTable::Global().Text(read.at(4).payload), "mine");
}

TEST_F(Names, MoreNamesThanTheCacheHoldsKeepTheirIds) {
  constexpr int kNames = 5 * static_cast<int>(NameCache::kEntries);
  Recorder* const recorder = NewRecorder({.chunks = 256});
  OnThread([&] {
    const RecordingOn on(recorder);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kNames; ++i) Instant("cached " + std::to_string(i));
    }
  });
  HandDrain drain(recorder);
  int i = 0;
  for (const ReadRecord& record : Walk(drain.Chunks())) {
    if (record.type != RecordType::kInstant) continue;
    ASSERT_EQ(NameTable::Global().Text(record.payload), "cached " + std::to_string(i++ % kNames));
  }
  EXPECT_EQ(i, 2 * kNames);
}

}  // namespace
}  // namespace ferret::internal
