// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the ring keeps, on a clock that is nothing but the times of events.

#include "runtime/export/flight_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "tests/export/fakes.h"

namespace ferret {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class FlightRingTest : public testing::Test {
 protected:
  // `count` events that end at that second.
  std::shared_ptr<EventBatch> At(int64_t second, size_t count = 1) {
    auto batch = MakeBatch(next_id_, count);
    next_id_ += static_cast<int64_t>(count);
    for (FunctionEvent& event : batch->events) event.end_ns = second * kSecond;
    batch->sequence = ++sequence_;
    return batch;
  }
  static std::vector<int64_t> Seconds(const FlightRing::Contents& contents) {
    std::vector<int64_t> seconds;
    for (const auto& batch : contents.batches) {
      for (const FunctionEvent& event : batch->events) seconds.push_back(event.end_ns / kSecond);
    }
    return seconds;
  }
  static void ExpectExact(const FlightRing& ring) {
    const FlightRing::Counts counts = ring.counts();
    EXPECT_EQ(counts.pushed, counts.dumped + counts.discarded + counts.waiting);
  }

  int64_t next_id_ = 1;
  uint64_t sequence_ = 0;
};

TEST_F(FlightRingTest, KeepsWhatIsNotOlderThanTheBoundOnTime) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  for (int64_t second = 1; second <= 100; ++second) ring.Push(At(second));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100}));
  EXPECT_EQ(ring.counts().discarded, 89u);
  ExpectExact(ring);
}

TEST_F(FlightRingTest, CountsTimeBackFromTheLatestEventAndNotFromNow) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  ring.Push(At(1));
  ring.Push(At(5));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{1, 5})) << "however long ago that is";
  // A kernel that comes late makes nothing else old.
  ring.Push(At(2));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{1, 5, 2}));
  ring.Push(At(14));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{5, 2, 14}));
}

TEST_F(FlightRingTest, WhatWasKeptForADumpIsThereAlsoWhenTheRingHasComeRound) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  ring.Push(At(1));
  ring.Push(At(2));
  ring.Keep();
  const uint64_t kept = sequence_;
  for (int64_t second = 50; second <= 60; ++second) ring.Push(At(second));
  ExpectExact(ring);
  EXPECT_EQ(ring.counts().discarded, 0u);
  const FlightRing::Contents contents = ring.Take(kept);
  EXPECT_EQ(Seconds(contents), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(contents.fresh, 2u);
  EXPECT_EQ(contents.pushed, 2u);
  EXPECT_EQ(ring.counts().dumped, 2u);
  EXPECT_EQ(ring.counts().waiting, 11u);
  ExpectExact(ring);
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60}));
  ring.DiscardAll();
  EXPECT_EQ(ring.counts().discarded, 0u);
  ExpectExact(ring);
}

TEST_F(FlightRingTest, WhatWasKeptForNobodyIsCountedAsDiscardedWhenItIsLetGo) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  ring.Push(At(1));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{1}));
  ring.Push(At(2));
  ring.Push(At(3));
  ring.Keep();
  ring.Push(At(13));
  EXPECT_EQ(ring.counts().waiting, 3u);
  ring.Keep();
  EXPECT_EQ(ring.counts().discarded, 1u) << "3 is still in the ring, and 1 was in a dump";
  ExpectExact(ring);
  ring.Push(At(40));
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{40})) << "the one who it was kept for has gone";
  EXPECT_EQ(ring.counts().discarded, 3u);
  EXPECT_EQ(ring.counts().dumped, 2u);
  ExpectExact(ring);
  ring.Push(At(41));
  ring.Keep();
  ring.DiscardAll();
  EXPECT_EQ(ring.counts().waiting, 0u);
  ExpectExact(ring);
}

TEST_F(FlightRingTest, IsNeverLargerThanTheBoundOnMemory) {
  constexpr size_t kBound = size_t{1} << 20;
  FlightRing ring({kBound, 0});
  std::mt19937 random(1);
  size_t largest = 0;
  for (int i = 0; i < 2000; ++i) {
    auto batch = At(i, 1 + random() % 200);
    if (random() % 4 == 0) batch->texts.Keep(std::string(random() % 20'000, 'x'));
    largest = std::max(largest, batch->bytes());
    ring.Push(std::move(batch));
    ASSERT_LE(ring.bytes(), kBound);
  }
  EXPECT_GT(ring.bytes(), kBound - 2 * largest) << "and uses it";
  ExpectExact(ring);
  // One that does not fit at all goes, too.
  auto giant = At(3000);
  giant->texts.Keep(std::string(2 * kBound, 'x'));
  ring.Push(std::move(giant));
  EXPECT_EQ(ring.bytes(), 0u);
  EXPECT_EQ(ring.batches(), 0u);
  ExpectExact(ring);
}

TEST_F(FlightRingTest, HoldsABatchThatWasHandedOverHalfEmptyInAsMuchMemoryAsItNeeds) {
  FlightRing ring({size_t{1} << 30, 0});
  auto batch = At(1, 10);
  batch->events.reserve(1024);
  ring.Push(std::move(batch));
  EXPECT_LT(ring.bytes(), 20 * sizeof(FunctionEvent) + sizeof(EventBatch));
  EXPECT_EQ(ring.Take().count, 10u);
}

TEST_F(FlightRingTest, CountsWhatIsInSeveralDumpsOnce) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  ring.Push(At(1, 3));
  const FlightRing::Contents first = ring.Take();
  EXPECT_EQ(first.fresh, 3u);
  EXPECT_EQ(first.fresh_after, 0u);
  ring.Push(At(2, 4));
  const FlightRing::Contents second = ring.Take();
  EXPECT_EQ(second.count, 7u);
  EXPECT_EQ(second.fresh, 4u);
  EXPECT_EQ(second.fresh_after, 1u);
  ring.Push(At(3, 5));
  ring.Push(At(100, 1));  // the first two were dumped, the third one was not
  EXPECT_EQ(ring.counts().dumped, 7u);
  EXPECT_EQ(ring.counts().discarded, 5u);
  EXPECT_EQ(ring.counts().waiting, 1u);
  ring.DiscardAll();
  EXPECT_EQ(ring.counts().discarded, 6u);
  EXPECT_EQ(ring.counts().waiting, 0u);
  ExpectExact(ring);
}

TEST_F(FlightRingTest, RemembersWhatIsSaidOnceOfThreadsDevicesAndStreams) {
  FlightRing ring({size_t{1} << 30, kSecond});
  auto batch = At(1);
  batch->threads = {MakeThread(1, "main"), MakeThread(7, "", 3)};
  batch->devices.push_back({DeviceType::kCuda, 0, "device", 0, 0, 0, 0, 0});
  batch->streams.push_back({0, 7, "stream"});
  ring.Push(std::move(batch));
  EXPECT_EQ(ring.Take().notices, nullptr) << "the batch itself is there";
  auto renamed = At(100);
  renamed->threads = {MakeThread(7, "worker")};
  ring.Push(std::move(renamed));
  ring.Push(At(200));
  const FlightRing::Contents contents = ring.Take();
  ASSERT_NE(contents.notices, nullptr);
  ASSERT_EQ(contents.notices->threads.size(), 2u);
  for (const ThreadInfo& info : contents.notices->threads) {
    EXPECT_EQ(info.name, info.thread == 1 ? "main" : "worker");
    EXPECT_EQ(info.previous_thread, info.thread == 1 ? 0u : 3u) << "what was delivered as 3 is still 7's";
  }
  EXPECT_EQ(contents.notices->devices.size(), 1u);
  EXPECT_EQ(contents.notices->streams.size(), 1u);
  EXPECT_EQ(contents.notices->count(), 0u);
  EXPECT_EQ(contents.notices->sequence, 0u);
}

TEST_F(FlightRingTest, ForgetsThreadsThatHaveNothingHereWhenThereAreTooMany) {
  FlightRing ring({size_t{1} << 30, kSecond});
  for (uint32_t thread = 1; thread <= 200'000; ++thread) {
    auto batch = At(thread);
    batch->events[0].thread = thread;
    batch->threads = {MakeThread(thread, "short")};
    ring.Push(std::move(batch));
  }
  EXPECT_LT(ring.Take().notices->threads.size(), 100'000u);
}

// Batches without a moment in them go with what came before.
TEST_F(FlightRingTest, TakesBatchesOfNoticesAlone) {
  FlightRing ring({size_t{1} << 30, kSecond});
  for (int i = 0; i < 3; ++i) {
    auto notice = std::make_shared<EventBatch>();
    notice->threads = {MakeThread(static_cast<uint32_t>(i + 1))};
    notice->sequence = ++sequence_;
    ring.Push(std::move(notice));
  }
  ring.Push(At(5));
  EXPECT_EQ(ring.Take().notices->threads.size(), 3u);
  EXPECT_EQ(Seconds(ring.Take()), (std::vector<int64_t>{5}));
}

TEST_F(FlightRingTest, IsSettledUpToWhatHasLeftIt) {
  FlightRing ring({size_t{1} << 30, 10 * kSecond});
  for (int64_t second = 1; second <= 100; ++second) ring.Push(At(second));
  EXPECT_EQ(ring.settled(), 89u);
  ring.Take();
  EXPECT_EQ(ring.settled(), 89u) << "a dump settles nothing: it may be gone when it is needed";
  ring.ReleaseSome();
  EXPECT_EQ(ring.settled(), 92u) << "of 11";
  EXPECT_EQ(Seconds(ring.Take()).size(), 11u) << "and all of it is still here";
  for (int i = 0; i < 100; ++i) ring.ReleaseSome();
  EXPECT_EQ(ring.settled(), 100u);
  ring.Push(At(101));
  EXPECT_EQ(ring.settled(), 100u);
}

// Against a model: any order of batches, dumps and discards; each event is in exactly one count, and a dump has what the
// bounds say.
TEST_F(FlightRingTest, KeepsExactSumsWhateverComes) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const size_t bound = (1 + random() % 64) << 12;
    const int64_t last_ns = random() % 3 == 0 ? 0 : static_cast<int64_t>(1 + random() % 20) * kSecond;
    FlightRing ring({bound, last_ns});
    sequence_ = 0;
    int64_t now = 1;
    uint64_t pushed = 0;
    std::set<int64_t> dumped;  // ids
    for (int i = 0; i < 300; ++i) {
      if (random() % 8 != 0) {
        now += random() % 3;
        const size_t count = random() % 30;
        pushed += count;
        ring.Push(At(std::max<int64_t>(1, now - static_cast<int64_t>(random() % 2)), count));
      } else {
        const FlightRing::Contents contents = ring.Take();
        size_t fresh = 0, count = 0, bytes = 0;
        int64_t latest = 0;
        for (const auto& batch : contents.batches) {
          bytes += batch->bytes();
          for (const FunctionEvent& event : batch->events) {
            fresh += dumped.insert(event.id).second;
            ++count;
            latest = std::max(latest, event.end_ns);
          }
        }
        EXPECT_EQ(contents.fresh, fresh);
        EXPECT_EQ(contents.count, count);
        EXPECT_EQ(contents.pushed, pushed);
        EXPECT_LE(bytes, bound);
      }
      const FlightRing::Counts counts = ring.counts();
      ASSERT_EQ(counts.pushed, pushed);
      ASSERT_EQ(counts.dumped, dumped.size());
      ASSERT_EQ(counts.pushed, counts.dumped + counts.discarded + counts.waiting);
    }
    ring.DiscardAll();
    EXPECT_EQ(ring.counts().discarded, pushed - dumped.size());
    EXPECT_EQ(ring.counts().waiting, 0u);
    EXPECT_EQ(ring.bytes(), 0u);
  }
}

}  // namespace
}  // namespace ferret
