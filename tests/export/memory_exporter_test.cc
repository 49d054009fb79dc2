// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/memory/memory_exporter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/export/batch_pool.h"
#include "runtime/export/exporter_runner.h"
#include "tests/export/fakes.h"

namespace ferret {
namespace {

class MemoryExporterTest : public testing::Test {
 protected:
  void Export(const EventBatch& batch) { EXPECT_TRUE(exporter_.Export(batch).ok()); }
  void Rename(uint32_t thread, uint32_t previous) {
    EventBatch batch;
    batch.threads.push_back(MakeThread(thread, "", previous));
    Export(batch);
  }

  std::shared_ptr<MemoryCollector> collector_ = std::make_shared<MemoryCollector>();
  MemoryExporter exporter_{collector_};
};

TEST_F(MemoryExporterTest, KeepsCopiesThatOutliveTheBatchAndTheTraceMayMove) {
  {
    auto batch = MakeBatch(1, 2);
    batch->events[0].name = batch->texts.Keep("short");
    batch->events[1].name = batch->texts.Keep("a text that is too long to be stored inside of the string");
    batch->instants.resize(1);
    batch->instants[0].name = batch->texts.Keep("short");
    batch->links.resize(1);
    batch->threads.push_back(MakeThread(1, "main"));
    Export(*batch);
  }
  CollectedTrace taken = collector_->Take();
  const CollectedTrace trace = std::move(taken);
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[0].name, "short");
  EXPECT_EQ(trace.events[1].name, "a text that is too long to be stored inside of the string");
  EXPECT_EQ(trace.events[1].id, 2);
  ASSERT_EQ(trace.instants.size(), 1u);
  EXPECT_EQ(trace.instants[0].name, "short");
  EXPECT_EQ(trace.links.size(), 1u);
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].name, "main");
}

TEST_F(MemoryExporterTest, WhatExceedsTheBoundIsCounted) {
  collector_ = std::make_shared<MemoryCollector>(5);
  MemoryExporter exporter(collector_);
  auto batch = MakeBatch(1, 3);
  batch->instants.resize(1);
  batch->links.resize(4);
  batch->extra = 4;  // what the drain made of itself takes up room as well
  EXPECT_TRUE(exporter.Export(*batch).ok());
  EXPECT_TRUE(exporter.Export(*batch).ok());
  EXPECT_TRUE(exporter.Close(ExportProgress(), absl::InfiniteFuture()).ok());
  EXPECT_EQ(collector_->size(), 5u);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.instants.size(), 1u);
  EXPECT_EQ(trace.events_not_kept, 3u);
  EXPECT_EQ(trace.links.size(), 5u);
  EXPECT_EQ(trace.links_not_kept, 3u);
  EXPECT_FALSE(trace.complete());
}

TEST_F(MemoryExporterTest, TakeMakesRoomAndKeepsWhatIsTrueOfTheSession) {
  SessionInfo info;
  info.pid = 42;
  info.file_opened = [](const std::string&, const std::string&) {};
  EXPECT_TRUE(exporter_.Open(info).ok());
  auto batch = MakeBatch(1);
  batch->threads.push_back(MakeThread(1, "main"));
  Export(*batch);
  EXPECT_EQ(collector_->Take().events.size(), 1u);
  Export(*MakeBatch(2));
  EXPECT_TRUE(exporter_.Close(ExportProgress(), absl::InfiniteFuture()).ok());
  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].id, 2);
  EXPECT_EQ(trace.events[0].name, "op");
  EXPECT_EQ(trace.info.pid, 42);
  EXPECT_EQ(trace.info.file_opened, nullptr);
  EXPECT_EQ(trace.threads.size(), 1u);
  EXPECT_TRUE(trace.complete());
}

TEST_F(MemoryExporterTest, ARenumberedThreadTakesItsEarlierEventsAlong) {
  auto batch = MakeBatch(1, 3);
  batch->events[0].thread = 1;
  batch->events[1].thread = 2;
  batch->events[2].thread = 2;
  batch->events[2].fwd_thread = 1;
  batch->instants.resize(1);
  batch->instants[0].thread = 1;
  batch->threads = {MakeThread(1, "main"), MakeThread(2, "worker")};
  Export(*batch);
  Rename(9, 1);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events[0].thread, 9u);
  EXPECT_EQ(trace.events[1].thread, 2u);
  EXPECT_EQ(trace.events[2].thread, 2u);
  EXPECT_EQ(trace.events[2].fwd_thread, 9u);
  EXPECT_EQ(trace.instants[0].thread, 9u);
  ASSERT_EQ(trace.threads.size(), 2u);
  EXPECT_EQ(trace.threads[0].thread, 2u);
  EXPECT_EQ(trace.threads[1].thread, 9u);
}

TEST_F(MemoryExporterTest, AThreadMayBeRenumberedAgainInOneBatchOrInSeveral) {
  Export(*MakeBatch(1));
  EventBatch batch;
  batch.threads = {MakeThread(5, "", 1), MakeThread(6, "", 5)};
  Export(batch);
  Rename(7, 6);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events[0].thread, 7u);
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].thread, 7u);
}

TEST_F(MemoryExporterTest, ANewNameReplacesTheOldOne) {
  EventBatch batch;
  batch.threads = {MakeThread(1), MakeThread(1, "main")};
  Export(batch);
  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].name, "main");
}

TEST_F(MemoryExporterTest, TheCollectorOutlivesTheRunner) {
  RunnerOptions options;
  options.name = "memory";
  options.progress = [] {
    ExportProgress progress;
    progress.events_built = 300;
    return progress;
  };
  {
    BatchPool pool;
    ExporterRunner runner(std::make_unique<MemoryExporter>(collector_), SessionInfo(), options);
    for (int i = 0; i < 100; ++i) {
      std::shared_ptr<EventBatch> batch = pool.Acquire();
      *batch = std::move(*MakeBatch(1 + 3 * i, 3));
      batch->events[0].name = batch->texts.Keep("name " + std::to_string(i));
      runner.Push(batch);
    }
    EXPECT_TRUE(runner.Stop(absl::InfiniteFuture()).ok());
  }
  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.events.size(), 300u);
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(trace.events[i].id, static_cast<int64_t>(i + 1));
  EXPECT_EQ(trace.events[297].name, "name 99");
  EXPECT_EQ(trace.progress.events_built, 300u);
  EXPECT_TRUE(trace.complete());
}

TEST(CreateMemoryExporter, TakesMaxEventsAndNothingElse) {
  EXPECT_TRUE(CreateMemoryExporter({"memory", "", {}}).ok());
  EXPECT_TRUE(CreateMemoryExporter({"memory", "", {{"max_events", "10"}}}).ok());
  EXPECT_FALSE(CreateMemoryExporter({"memory", "", {{"max_events", "0"}}}).ok());
  EXPECT_FALSE(CreateMemoryExporter({"memory", "", {{"size", "10"}}}).ok());
  EXPECT_FALSE(CreateMemoryExporter({"memory", "x", {}}).ok());
}

}  // namespace
}  // namespace ferret
