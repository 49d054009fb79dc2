// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the memory exporter keeps of devices.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "exporters/memory/memory_exporter.h"

namespace ferret {
namespace {

// Scope 1 ("layer") around scope 2 ("gemm"), on thread 3, which the system calls 1003; both timed on stream 7.
class MemoryDevicesTest : public testing::Test {
 protected:
  void Export(const EventBatch& batch) { EXPECT_TRUE(exporter_.Export(batch).ok()); }

  static FunctionEvent& AddScope(int64_t id, std::string_view name, int64_t start, int64_t end, EventBatch* batch) {
    FunctionEvent& event = batch->events.emplace_back();
    event.id = id;
    event.name = batch->texts.Keep(name);
    event.start_ns = start;
    event.end_ns = end;
    event.thread = 3;
    event.device_resource_id = 1003;
    event.use_device = DeviceType::kCuda;
    return event;
  }
  static FunctionEvent& AddPair(int64_t id, int64_t scope, std::string_view name, int64_t start, int64_t end,
                                EventBatch* batch) {
    FunctionEvent& event = AddScope(id, name, start, end, batch);
    event.device_type = DeviceType::kCuda;
    event.device_index = 1;
    event.device_resource_id = 7;
    event.activity_type = ActivityType::kKernel;
    EventDetails& details = batch->details.emplace_back();
    details.launch = &batch->launches.emplace_back(DeviceLaunch{scope, 3, 1003, id, start - 10, start - 5, 40, 2});
    details.linked_correlation_id = scope;
    event.details = &details;
    ++batch->extra;
    return event;
  }
  // In batches that are gone afterwards, the device's events last.
  void ExportAll() {
    auto scopes = std::make_unique<EventBatch>();
    AddScope(2, "gemm", 120, 150, scopes.get());
    AddScope(1, "layer", 100, 200, scopes.get()).is_legacy = true;
    Export(*scopes);
    scopes.reset();
    auto pairs = std::make_unique<EventBatch>();
    AddPair(3, 2, "gemm", 1000, 1300, pairs.get());
    FunctionEvent& outer = AddPair(4, 1, "layer", 900, 1900, pairs.get());
    outer.activity_type = ActivityType::kGpuUserAnnotation;
    outer.is_user_annotation = outer.is_legacy = true;
    FunctionEvent& drawn = AddPair(5, 1, "layer", 900, 1900, pairs.get());
    drawn.activity_type = ActivityType::kGpuUserAnnotation;
    drawn.is_user_annotation = drawn.is_synthesized = true;
    drawn.details->launch = nullptr;
    Export(*pairs);
  }
  static const FunctionEvent& Find(const EventList& list, int64_t id) {
    for (const FunctionEvent& event : list) {
      if (event.id == id) return event;
    }
    ADD_FAILURE() << "no event " << id;
    return list[0];
  }

  std::shared_ptr<MemoryCollector> collector_ = std::make_shared<MemoryCollector>();
  MemoryExporter exporter_{collector_};
};

TEST_F(MemoryDevicesTest, ScopesHaveWhatTheyLaunchedAndPairsTheirLaunches) {
  ExportAll();
  EventList list;
  {
    CollectedTrace taken = collector_->Take();
    const CollectedTrace trace = std::move(taken);
    list = trace.ToEventList();
  }
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list.config().use_device, DeviceType::kCuda);
  const FunctionEvent& gemm = Find(list, 2);
  ASSERT_EQ(gemm.kernels().size(), 1u);
  EXPECT_EQ(gemm.kernels()[0].name, "gemm");
  EXPECT_EQ(gemm.kernels()[0].device, 1);
  EXPECT_EQ(gemm.kernels()[0].duration_ns, 300);
  const FunctionEvent& layer = Find(list, 1);
  ASSERT_EQ(layer.kernels().size(), 1u) << "not what was drawn";
  EXPECT_EQ(layer.device_time_total_ns(), 1000);
  EXPECT_EQ(layer.self_device_time_total_ns(), 700);
  const FunctionEvent& kernel = Find(list, 3);
  ASSERT_NE(kernel.details->launch, nullptr);
  EXPECT_EQ(kernel.details->launch->scope_id, 2);
  EXPECT_EQ(kernel.details->launch->clock_error_ns, 40);
  const auto metadata = kernel.metadata();
  EXPECT_EQ(metadata.at("External id"), Value(int64_t{2}));
  EXPECT_EQ(metadata.at("correlation"), Value(int64_t{3}));
  EXPECT_EQ(metadata.at("context"), Value(int64_t{2}));
  EXPECT_EQ(metadata.at("clock_error_ns"), Value(int64_t{40}));
  EXPECT_EQ(metadata.at("stream"), Value(int64_t{7}));
}

TEST_F(MemoryDevicesTest, OfNestedPairsTheTableCountsEachNanosecondOnce) {
  ExportAll();
  const EventList list = collector_->Take().ToEventList();
  EXPECT_NE(list.key_averages().table().find("Self CUDA time total: 1.000us"), std::string::npos)
      << list.key_averages().table();
  EXPECT_NE(list.table().find("Self CUDA time total: 1.000us"), std::string::npos) << list.table();
}

TEST_F(MemoryDevicesTest, WhatWasLaunchedByAScopeThatIsNotThereStaysAnEvent) {
  EventBatch batch;
  AddPair(3, 2, "gemm", 1000, 1300, &batch);
  Export(batch);
  const EventList list = collector_->Take().ToEventList();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].device_time_total_ns(), 300);
}

TEST_F(MemoryDevicesTest, WithoutADeviceThereIsNoDeviceTime) {
  EventBatch batch;
  AddScope(1, "op", 1, 2, &batch).use_device = DeviceType::kCpu;
  Export(batch);
  EXPECT_EQ(collector_->Take().ToEventList().config().use_device, DeviceType::kCpu);
}

TEST_F(MemoryDevicesTest, ThePairsOfARenumberedThreadGoAlongAndAStreamIsNoThread) {
  ExportAll();
  EventBatch batch;
  ThreadInfo renamed;
  renamed.thread = 9;
  renamed.previous_thread = 3;
  renamed.os_tid = 1003;
  ThreadInfo other = renamed;  // a thread that the system calls as the stream
  other.thread = 8;
  other.os_tid = 7;
  batch.threads = {renamed, other};
  Export(batch);
  const CollectedTrace trace = collector_->Take();
  for (const FunctionEvent& event : trace.events) {
    EXPECT_EQ(event.thread, event.is_synthesized ? 3u : 9u) << event.id;
    const DeviceLaunch* const launch = event.details == nullptr ? nullptr : event.details->launch;
    EXPECT_TRUE(launch == nullptr || launch->thread == 9u) << event.id;
  }
}

TEST_F(MemoryDevicesTest, NoticesAreKeptOnceAndAlsoAfterTake) {
  for (const char* name : {"old", "new"}) {
    EventBatch batch;
    DeviceInfo device;
    device.index = 1;
    device.name = name;
    batch.devices.push_back(device);
    batch.streams.push_back({1, 7, name});
    batch.streams.push_back({0, 7, name});
    Export(batch);
  }
  collector_->Take();
  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_EQ(trace.devices[0].name, "new");
  ASSERT_EQ(trace.streams.size(), 2u);
  EXPECT_EQ(trace.streams[0].name, "new");
}

TEST_F(MemoryDevicesTest, EventsOnDevicesAndNoticesCountForTheBound) {
  collector_ = std::make_shared<MemoryCollector>(2);
  MemoryExporter exporter(collector_);
  EventBatch batch;
  for (int16_t i = 0; i < 5; ++i) {
    AddPair(1 + i, 9, "gemm", 1000, 1300, &batch);
    batch.streams.push_back({0, 1 + i, ""});
    batch.devices.emplace_back().index = i;
  }
  EXPECT_TRUE(exporter.Export(batch).ok());
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.launches.size(), 2u);
  EXPECT_EQ(trace.devices.size(), 2u);
  EXPECT_EQ(trace.streams.size(), 2u);
  EXPECT_EQ(trace.events_not_kept, 3u);
}

}  // namespace
}  // namespace ferret
