// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/exporter_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/export/fakes.h"

namespace ferret {
namespace {

const size_t kBatchBytes = MakeBatch(1)->bytes();

void ExpectExact(const ExporterCounts& counts) {
  EXPECT_EQ(counts.pushed, counts.exported + counts.dropped + counts.failed + counts.waiting);
}

TEST(ExporterQueue, WhatIsBeingExportedStillCountsAgainstTheBound) {
  ExporterQueue queue(2 * kBatchBytes);
  queue.Push(MakeBatch(1));
  queue.Push(MakeBatch(2));
  queue.Push(MakeBatch(3));
  EXPECT_EQ(queue.counts().dropped, 1u);
  queue.Take();
  queue.Push(MakeBatch(4));
  EXPECT_EQ(queue.counts().dropped, 2u);
  queue.Finish(true);
  queue.Push(MakeBatch(5));
  EXPECT_EQ(queue.counts().dropped, 2u);
  EXPECT_EQ(queue.counts().exported, 1u);
  EXPECT_EQ(queue.counts().waiting, 2u);
  ExpectExact(queue.counts());
}

TEST(ExporterQueue, ABatchAboveTheBoundIsDroppedEvenWhenNothingWaits) {
  ExporterQueue queue(kBatchBytes);
  queue.Push(MakeBatch(1, 100));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.counts().dropped, 100u);
}

TEST(ExporterQueue, InstantsAreCountedLikeEventsButLinksApartAndWhatTheDrainMadeNotAtAll) {
  ExporterQueue queue(1);
  auto batch = MakeBatch(1, 3);
  batch->instants.resize(2);
  batch->links.resize(4);
  batch->extra = 1;
  queue.Push(batch);
  EXPECT_EQ(queue.counts().dropped, 4u);
  EXPECT_EQ(queue.counts().links_lost, 4u);
}

TEST(ExporterQueue, ThreadNoticesOfDroppedBatchesAreTakenAlongByTheNextAcceptedOne) {
  ExporterQueue queue(kBatchBytes + 1000);
  queue.Push(MakeBatch(1));
  for (uint32_t thread : {7, 8}) {
    auto batch = MakeBatch(2, 100);
    batch->threads.push_back(MakeThread(thread));
    queue.Push(batch);
  }
  queue.Take();
  queue.Finish(true);
  queue.Push(MakeBatch(3));
  const ExporterQueue::Entry entry = queue.Take();
  ASSERT_EQ(entry.missed_threads.size(), 2u);
  EXPECT_EQ(entry.missed_threads[0].thread, 7u);
  EXPECT_EQ(entry.missed_threads[1].thread, 8u);
  EXPECT_TRUE(queue.TakeMissedThreads().empty());
}

TEST(ExporterQueue, MissedThreadNoticesAreBoundedAndTheRestIsCounted) {
  ExporterQueue queue(1);
  auto batch = MakeBatch(1);
  batch->threads.assign(ExporterQueue::kMaxMissedThreads - 1, MakeThread(1));
  queue.Push(batch);
  EXPECT_EQ(queue.counts().thread_notices_lost, 0u);
  queue.Push(batch);
  EXPECT_EQ(queue.counts().thread_notices_lost, ExporterQueue::kMaxMissedThreads - 2);
  EXPECT_EQ(queue.TakeMissedThreads().size(), ExporterQueue::kMaxMissedThreads);
}

TEST(ExporterQueue, DroppingWhatWaitsKeepsAllThreadNoticesInTheirOrder) {
  ExporterQueue queue(4 * kBatchBytes + 1000);
  const auto push = [&queue](uint32_t thread, size_t events) {
    auto batch = MakeBatch(1, events);
    batch->threads.push_back(MakeThread(thread));
    queue.Push(batch);
  };
  push(1, 100);  // dropped
  push(2, 1);
  push(3, 100);  // dropped
  EXPECT_EQ(queue.DropWaiting(absl::CancelledError("")).size(), 1u);
  const std::vector<ThreadInfo> threads = queue.TakeMissedThreads();
  ASSERT_EQ(threads.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(threads[i].thread, i + 1);
  EXPECT_EQ(queue.counts().dropped, 201u);
  ExpectExact(queue.counts());
}

TEST(ExporterQueue, AbandoningCountsWhatWaitsAsDroppedAndWhatIsInTheExportersHandsAsFailed) {
  ExporterQueue queue(1 << 20);
  queue.Push(MakeBatch(1, 2));
  queue.Push(MakeBatch(3, 5));
  const auto request = std::make_shared<FlushRequest>();
  queue.PushFlush(request);
  queue.Take();
  queue.AbandonAll(absl::DeadlineExceededError("late"));
  EXPECT_EQ(queue.counts().failed, 2u);
  EXPECT_EQ(queue.counts().dropped, 5u);
  EXPECT_EQ(queue.counts().waiting, 0u);
  EXPECT_TRUE(request->done);
  EXPECT_TRUE(absl::IsDeadlineExceeded(request->status));
}

TEST(ExporterQueue, FailingCountsEverythingAsFailed) {
  ExporterQueue queue(1 << 20);
  queue.Push(MakeBatch(1, 2));
  queue.Push(MakeBatch(3, 5));
  queue.Take();
  queue.FailAll(absl::InternalError("broken"));
  queue.Fail(*MakeBatch(8));
  EXPECT_EQ(queue.counts().failed, 8u);
  ExpectExact(queue.counts());
  queue.Push(MakeBatch(9));  // the bytes were given back
  EXPECT_EQ(queue.counts().waiting, 1u);
}

}  // namespace
}  // namespace ferret
