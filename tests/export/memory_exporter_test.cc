// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/memory/memory_exporter.h"
#include "ferret/scope_details.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
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
  static ThreadInfo Renamed(uint32_t thread, uint32_t previous, int32_t os_tid) {
    ThreadInfo info = MakeThread(thread, "", previous);
    info.os_tid = os_tid;
    return info;
  }
  void Rename(uint32_t thread, uint32_t previous, int32_t os_tid) {
    EventBatch batch;
    batch.threads.push_back(Renamed(thread, previous, os_tid));
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
  for (FunctionEvent& event : batch->events) event.device_resource_id = 1000 + static_cast<int32_t>(event.thread);
  batch->events[2].fwd_thread = 1;
  batch->events[2].forward_id = batch->events[0].id;
  batch->instants.resize(1);
  batch->instants[0].thread = 1;
  batch->instants[0].device_resource_id = 1001;
  batch->threads = {MakeThread(1, "main"), MakeThread(2, "worker")};
  Export(*batch);
  Rename(9, 1, 1001);
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
  auto first = MakeBatch(1);
  first->events[0].device_resource_id = 1001;
  Export(*first);
  EventBatch batch;
  batch.threads = {Renamed(5, 1, 1001), Renamed(6, 5, 1001)};
  Export(batch);
  Rename(7, 6, 1001);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events[0].thread, 7u);
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].thread, 7u);
}

// Ferret counts threads from 1, and so does a framework: the numbers may cross.
TEST_F(MemoryExporterTest, ThreadsWhoseIdsCrossStayApart) {
  auto batch = MakeBatch(1, 3);
  for (int i = 0; i < 3; ++i) batch->events[i].device_resource_id = 100 + i;
  for (int i = 0; i < 3; ++i) batch->events[i].thread = static_cast<uint32_t>(i + 1);
  // By the framework's own ids, so it names the thread that Ferret calls 1.
  batch->events[2].fwd_thread = 2;
  batch->events[2].forward_id = batch->events[0].id;
  for (uint32_t i = 0; i < 3; ++i) {
    batch->threads.push_back(MakeThread(i + 1, i == 0 ? "a" : i == 1 ? "b" : "c"));
    batch->threads.back().os_tid = 100 + static_cast<int32_t>(i);
  }
  Export(*batch);
  EventBatch renames;
  for (const auto& [now, before, os_tid] : {std::tuple(2u, 1u, 100), std::tuple(3u, 2u, 101), std::tuple(1u, 3u, 102)}) {
    renames.threads.push_back(Renamed(now, before, os_tid));
  }
  Export(renames);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events[0].thread, 2u);
  EXPECT_EQ(trace.events[1].thread, 3u);
  EXPECT_EQ(trace.events[2].thread, 1u);
  EXPECT_EQ(trace.events[2].fwd_thread, 2u);
  ASSERT_EQ(trace.threads.size(), 3u);
  for (const ThreadInfo& info : trace.threads) EXPECT_EQ(info.thread, info.os_tid == 100 ? 2u : info.os_tid == 101 ? 3u : 1u);
}

TEST_F(MemoryExporterTest, KeepsDetailsAndMemoryAndMakesAListOfThem) {
  ScopeDetails inputs;
  inputs.Tensor("float", {2, 3});
  {
    auto batch = MakeBatch(1, 2);
    for (int i = 0; i < 2; ++i) {
      // Delivered as they end: the inner one first, of the same length.
      batch->events[i].id = 2 - i;
      batch->events[i].start_ns = 1000;
      batch->events[i].end_ns = 2000;
      EventDetails& details = batch->details.emplace_back();
      details.recorded = batch->texts.Keep(inputs.bytes());
      batch->events[i].details = &details;
    }
    batch->events[0].name = "inner";
    batch->events[1].name = "outer";
    MemoryEvent memory;
    memory.time_ns = 1500;
    memory.bytes = 64;
    memory.thread = batch->events[0].thread;
    batch->memory.push_back(memory);
    Export(*batch);
  }
  EXPECT_EQ(collector_->size(), 3u);
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events[0].details->recorded.data(), trace.events[1].details->recorded.data()) << "kept once";
  const EventList list = trace.ToEventList();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "outer");
  EXPECT_EQ(list[1].name, "inner");
  ASSERT_NE(list[1].cpu_parent, nullptr);
  EXPECT_EQ(list[1].cpu_parent->name, "outer");
  EXPECT_EQ(list[1].input_shapes(), (std::vector<std::vector<int64_t>>{{2, 3}}));
  EXPECT_EQ(list[1].cpu_memory_usage(), 64);
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
