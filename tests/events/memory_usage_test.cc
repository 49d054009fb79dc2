// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which events allocations are counted in.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/events/event_maker.h"

namespace ferret {
namespace {

MemoryEvent Allocation(double at_us, uint32_t thread, int64_t bytes, DeviceType device = DeviceType::kCpu) {
  MemoryEvent record;
  record.time_ns = static_cast<int64_t>(at_us * 1000);
  record.thread = thread;
  record.bytes = bytes;
  record.device_type = device;
  record.device_index = device == DeviceType::kCpu ? -1 : 0;
  return record;
}

TEST(MemoryUsage, ARecordCountsInAllEventsAroundItOnItsThread) {
  EventList list;
  FunctionEvent& outer = AddOp(list, "outer", 0, 10);
  FunctionEvent& inner = AddOp(list, "inner", 2, 4);
  FunctionEventFields fields = Op("other thread", 0, 10);
  fields.thread = 2;
  FunctionEvent& other = AddTo(list, fields);
  list.AddMemory(Allocation(3, 1, 100));
  list.AddMemory(Allocation(3.5, 1, -30));
  list.AddMemory(Allocation(5, 1, 8));
  list.AddMemory(Allocation(3, 1, 4096, DeviceType::kCuda));
  list.AddMemory(Allocation(4, 1, 1));  // the inner one is over
  list.Build();
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(inner.cpu_memory_usage(), 70);
  EXPECT_EQ(outer.cpu_memory_usage(), 79);
  EXPECT_EQ(outer.self_cpu_memory_usage(), 9);
  EXPECT_EQ(inner.device_memory_usage(), 4096);
  EXPECT_EQ(outer.self_device_memory_usage(), 0);
  EXPECT_EQ(other.cpu_memory_usage(), 0);
}

// torch.profiler's rule, for comparisons with it.
TEST(MemoryUsage, OnAllThreadsARecordCountsInEveryEventOfItsTime) {
  EventList::Config config;
  config.memory_of_all_threads = true;
  EventList list(config);
  FunctionEventFields fields = Op("op", 0, 10);
  fields.cpu_memory_usage = 12345;  // does not count
  FunctionEvent& op = AddTo(list, fields);
  fields = Op("other thread", 3, 4);
  fields.thread = 2;
  FunctionEvent& other = AddTo(list, fields);
  MemoryEvent record = Allocation(4, 1, 100);
  record.scope_id = 1;
  list.AddMemory(record);
  list.AddMemory(Allocation(10, 1, 1));  // ends belong to the event
  list.Build();
  EXPECT_EQ(op.cpu_memory_usage(), 101);
  EXPECT_EQ(other.cpu_memory_usage(), 100);
}

TEST(MemoryUsage, ARecordOfASessionIsInItsScopesEventAlready) {
  EventList list;
  FunctionEventFields fields = Op("op", 0, 10);
  fields.cpu_memory_usage = 64;
  FunctionEvent& op = AddTo(list, fields);
  MemoryEvent record = Allocation(5, 1, 64);
  record.scope_id = op.id;
  list.AddMemory(record);
  list.Build();
  EXPECT_EQ(op.cpu_memory_usage(), 64);
  EXPECT_EQ(list.size(), 1u);
}

TEST(MemoryUsage, RecordsOfNobodyAndFailuresBecomeEventsOfTheirOwn) {
  EventList list;
  FunctionEvent& op = AddOp(list, "op", 0, 10);
  list.AddMemory(Allocation(20, 1, 100));
  list.AddMemory(Allocation(30, 3, 512, DeviceType::kCuda));
  MemoryEvent failed = Allocation(5, 1, 1 << 30, DeviceType::kCuda);
  failed.out_of_memory = true;
  failed.total_reserved = 7;
  list.AddMemory(failed);
  list.Build();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(op.device_memory_usage(), 0);
  EXPECT_EQ(list[1].name, "[OutOfMemory]");
  EXPECT_EQ(list[1].device_memory_usage(), 1 << 30);
  EXPECT_EQ(std::get<int64_t>(list[1].metadata()["Total Reserved"]), 7);
  EXPECT_EQ(list[2].name, "[memory]");
  EXPECT_EQ(list[2].cpu_memory_usage(), 100);
  EXPECT_EQ(list[2].duration_ns(), 0);
  EXPECT_GT(list[2].id, op.id);
  EXPECT_NE(list[2].id, list[3].id);
  EXPECT_EQ(list[3].device_type, DeviceType::kCuda);
  EXPECT_EQ(list[3].thread, 3u);
}

TEST(MemoryUsage, SelfIsWhatTheChildrenLeave) {
  EventList list;
  FunctionEventFields fields = Op("outer", 0, 10);
  fields.cpu_memory_usage = 100;
  FunctionEvent& outer = AddTo(list, fields);
  fields = Op("inner", 1, 2);
  fields.cpu_memory_usage = 130;
  AddTo(list, fields);
  list.Build();
  EXPECT_EQ(outer.self_cpu_memory_usage(), -30);
}

TEST(MemoryUsage, RandomRecordsCountAsTheRuleSaysRecordByRecord) {
  std::mt19937 random(11);
  for (const bool all_threads : {false, true}) {
    EventList::Config config;
    config.memory_of_all_threads = all_threads;
    for (int round = 0; round < 100; ++round) {
      EventList list(config);
      for (int i = 0; i < 20; ++i) {
        FunctionEventFields fields = Op("op" + std::to_string(i), static_cast<double>(random() % 30), 0);
        fields.end_us = fields.start_us + static_cast<double>(random() % 10);
        fields.thread = 1 + random() % 2;
        AddTo(list, fields);
      }
      std::vector<MemoryEvent> records;
      for (int i = 0; i < 30; ++i) {
        records.push_back(Allocation(static_cast<double>(random() % 45), 1 + random() % 2,
                                     static_cast<int64_t>(random() % 1000) - 500));
        list.AddMemory(records.back());
      }
      std::map<int64_t, int64_t> expected;
      size_t unclaimed = 0;
      for (const MemoryEvent& record : records) {
        bool claimed = false;
        for (const FunctionEvent& event : list) {
          const bool inside = record.time_ns >= event.start_ns &&
                              (all_threads || event.start_ns == event.end_ns ? record.time_ns <= event.end_ns
                                                                             : record.time_ns < event.end_ns);
          if (!inside || (!all_threads && event.thread != record.thread)) continue;
          expected[event.id] += record.bytes;
          claimed = true;
        }
        if (!claimed) ++unclaimed;
      }
      list.Build();
      EXPECT_EQ(list.size(), 20 + unclaimed);
      for (const FunctionEvent& event : list) {
        if (event.name == "[memory]") continue;
        EXPECT_EQ(event.cpu_memory_usage(), expected[event.id]) << event.ToString();
      }
    }
  }
}

}  // namespace
}  // namespace ferret
