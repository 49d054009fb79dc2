// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Adding events up by key.

#include "runtime/events/key_averages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/events/event_maker.h"

namespace ferret {
namespace {

TEST(KeyAverages, ARowTakesTheFieldsOfItsFirstEventAndSumsUpTheOthers) {
  EventList list({0, DeviceType::kCuda, true, true});
  FunctionEventFields fields = Op("op", 0, 10);
  fields.node_id = 2;
  fields.is_remote = true;
  fields.scope = RecordScope::kUserScope;
  fields.is_user_annotation = true;
  fields.cpu_memory_usage = 100;
  fields.device_memory_usage = 1000;
  fields.flops = 7;
  FunctionEvent& first = AddTo(list, fields);
  fields.start_us = 20;
  fields.end_us = 25;
  fields.scope = RecordScope::kFunction;
  AddTo(list, fields);
  FunctionEventFields inner = Op("inner", 1, 4);
  inner.node_id = 2;
  inner.cpu_memory_usage = 30;
  FunctionEvent& child = AddTo(list, inner);
  ASSERT_EQ(list.append_kernel(first, "k", 0, 3), "");
  ASSERT_EQ(list.append_kernel(child, "k", 0, 4), "");
  list.Build();
  const EventAverages averages = list.key_averages();
  ASSERT_EQ(averages.size(), 2u);
  const FunctionEventAvg& row = averages[0];
  EXPECT_EQ(row.key, "op");
  EXPECT_EQ(row.count, 2);
  EXPECT_EQ(row.node_id, 2);
  EXPECT_TRUE(row.is_remote);
  EXPECT_FALSE(row.is_async);
  EXPECT_FALSE(row.is_legacy);
  EXPECT_TRUE(row.is_user_annotation);
  EXPECT_EQ(row.scope, RecordScope::kUserScope);
  EXPECT_EQ(row.device_type, DeviceType::kCpu);
  EXPECT_EQ(row.use_device, DeviceType::kCuda);
  EXPECT_EQ(row.cpu_parent, nullptr);
  ASSERT_EQ(row.cpu_children().size(), 1u);
  EXPECT_EQ(row.cpu_children()[0], &child);
  EXPECT_EQ(averages[1].cpu_parent, &first);
  EXPECT_DOUBLE_EQ(row.cpu_time_total(), 15);
  EXPECT_DOUBLE_EQ(row.self_cpu_time_total(), 12);
  EXPECT_DOUBLE_EQ(row.cpu_time(), 7.5);
  EXPECT_DOUBLE_EQ(row.device_time_total(), 7);
  EXPECT_DOUBLE_EQ(row.self_device_time_total(), 3);
  EXPECT_DOUBLE_EQ(row.device_time(), 3.5);
  EXPECT_EQ(row.cpu_memory_usage, 200);
  EXPECT_EQ(row.self_cpu_memory_usage, 170);
  EXPECT_EQ(row.device_memory_usage, 2000);
  EXPECT_EQ(row.flops, 14);
  EXPECT_DOUBLE_EQ(row.self_cpu_percent, 80);
  EXPECT_DOUBLE_EQ(row.total_cpu_percent, 100);
  EXPECT_TRUE(std::isnan(row.total_device_percent));  // no event on a device

  const FunctionEventAvg total = list.total_average();
  EXPECT_EQ(total.key, "Total");
  EXPECT_EQ(total.count, 3);
  EXPECT_DOUBLE_EQ(total.cpu_time_total(), 18);
  EXPECT_DOUBLE_EQ(total.self_cpu_time_total(), 15);
  EXPECT_DOUBLE_EQ(averages.total_average().cpu_time_total(), 18);
  EXPECT_EQ(averages.total_average().count, 3);
  EXPECT_DOUBLE_EQ(list.self_cpu_time_total(), 15);
  EXPECT_DOUBLE_EQ(averages.self_cpu_time_total(), 15);
}

TEST(KeyAverages, OfNoEventsAreNone) {
  const FunctionEventAvg none;
  EXPECT_EQ(none.cpu_time(), 0);
  EXPECT_EQ(none.device_time(), 0);
  EventList list;
  EXPECT_EQ(list.total_average().count, 0);
  EXPECT_TRUE(list.key_averages().empty());
}

TEST(KeyAverages, EachPartOfTheKeyMakesARowOfItsOwn) {
  EventList list;
  const std::vector<void (*)(FunctionEventFields*)> kinds = {
      [](FunctionEventFields*) {},
      [](FunctionEventFields* fields) { fields->name = "other"; },
      [](FunctionEventFields* fields) { fields->node_id = 1; },
      [](FunctionEventFields* fields) { fields->device_type = DeviceType::kCuda; },
      [](FunctionEventFields* fields) { fields->is_legacy = true; },
      [](FunctionEventFields* fields) { fields->is_user_annotation = true; },
  };
  for (int round = 0; round < 3; ++round) {
    for (const auto& kind : kinds) {
      FunctionEventFields fields = Op("op", 10 * round, 10 * round + 1);
      kind(&fields);
      AddTo(list, fields);
    }
  }
  const EventAverages averages = list.key_averages();
  EXPECT_EQ(averages.size(), kinds.size());
  for (const FunctionEventAvg& row : averages) EXPECT_EQ(row.count, 3) << row.ToString();
}

TEST(KeyAverages, ShapesStacksAndOverloadsCountOnlyWhereTheyAreAskedFor) {
  EventList list;
  for (int i = 0; i < 8; ++i) {
    FunctionEventFields fields = Op("op", 10 * i, 10 * i + 1);
    fields.input_shapes = {{i & 1}};
    fields.input_dtypes = {"float"};
    fields.overload_name = (i & 2) != 0 ? "out" : "Tensor";
    fields.stack = {(i & 4) != 0 ? "a" : "b", i == 0 ? "x" : "y"};
    AddTo(list, fields);
  }
  list.Build();
  AverageOptions options;
  EXPECT_EQ(list.key_averages(options).size(), 1u);
  EXPECT_TRUE(list.key_averages(options)[0].input_shapes.empty());
  EXPECT_TRUE(list.key_averages(options)[0].stack.empty());
  EXPECT_EQ(list.key_averages(options)[0].overload_name, "");
  options.group_by_input_shapes = true;
  EXPECT_EQ(list.key_averages(options).size(), 2u);
  EXPECT_EQ(list.key_averages(options)[1].input_shapes, (std::vector<std::vector<int64_t>>{{1}}));
  options.group_by_overload_name = true;
  EXPECT_EQ(list.key_averages(options).size(), 4u);
  options.group_by_stack_n = 1;
  EXPECT_EQ(list.key_averages(options).size(), 8u);
  EXPECT_EQ(list.key_averages(options)[0].stack, std::vector<std::string>{"b"});
  options = AverageOptions();
  options.group_by_stack_n = 2;
  EXPECT_EQ(list.key_averages(options).size(), 3u);
}

TEST(KeyAverages, PythonFunctionsMayBeLeftOut) {
  EventList list;
  FunctionEventFields fields = Op("train.py(3): main", 0, 10);
  fields.is_python_function = true;
  AddTo(list, fields);
  AddOp(list, "op", 1, 2);
  list.Build();
  EXPECT_EQ(list.key_averages().size(), 2u);
  AverageOptions options;
  options.include_python_functions = false;
  ASSERT_EQ(list.key_averages(options).size(), 1u);
  EXPECT_EQ(list.key_averages(options)[0].key, "op");
}

TEST(KeyAverages, ANameAtTheAddressOfAnotherIsNotTakenForIt) {
  // As in batches, whose memory is used again.
  KeyAverages averages;
  std::string name;
  FunctionEvent event;
  for (int i = 0; i < 100; ++i) {
    name = i % 3 == 0 ? "aaaa" : i % 3 == 1 ? "bbbb" : "cc";
    event.name = name;
    event.is_user_annotation = i % 2 == 0;
    averages.Add(event);
  }
  EXPECT_EQ(averages.rows().size(), 6u);
}

TEST(KeyAverages, NamesWithAnyBytesAreKeptApart) {
  KeyAverages averages;
  FunctionEvent event;
  using Text = std::string_view;
  for (const Text name : {Text("a\0b", 3), Text("a\0c", 3), Text("a", 1), Text("", 0), Text("1 a", 3)}) {
    event.name = name;
    averages.Add(event);
    averages.Add(event);
  }
  EXPECT_EQ(averages.rows().size(), 5u);
}

TEST(KeyAverages, SumsAreThoseOfEachEventAddedUpOneByOne) {
  std::mt19937_64 random(7);
  EventList list({0, DeviceType::kCuda});
  for (int i = 0; i < 5000; ++i) {
    FunctionEventFields fields = Op("op" + std::to_string(random() % 20), 0, 0);
    fields.thread = 1 + random() % 3;
    fields.start_us = static_cast<double>(random() % 100000);
    fields.end_us = fields.start_us + static_cast<double>(random() % 100);
    fields.is_user_annotation = random() % 4 == 0;
    fields.is_async = random() % 10 == 0;
    fields.is_legacy = random() % 10 == 0;
    if (random() % 5 == 0) fields.device_type = DeviceType::kCuda;
    FunctionEvent& event = AddTo(list, fields);
    for (uint64_t kernels = random() % 3; kernels > 0 && event.device_type == DeviceType::kCpu; --kernels) {
      ASSERT_EQ(list.append_kernel(event, "k", 0, static_cast<double>(random() % 50)), "");
    }
  }
  list.Build();
  using Key = std::tuple<std::string, DeviceType, bool, bool>;
  std::map<Key, std::vector<int64_t>> sums;
  for (const FunctionEvent& event : list) {
    std::vector<int64_t>& sum = sums[Key(event.name, event.device_type, event.is_legacy, event.is_user_annotation)];
    sum.resize(5);
    sum[0] += 1;
    sum[1] += event.cpu_time_total_ns();
    sum[2] += event.self_cpu_time_total_ns();
    sum[3] += event.device_time_total_ns();
    sum[4] += event.self_device_time_total_ns();
  }
  const EventAverages averages = list.key_averages();
  EXPECT_EQ(averages.size(), sums.size());
  for (const FunctionEventAvg& row : averages) {
    EXPECT_EQ((std::vector<int64_t>{row.count, row.cpu_time_total_ns, row.self_cpu_time_total_ns,
                                    row.device_time_total_ns, row.self_device_time_total_ns}),
              sums[Key(row.key, row.device_type, row.is_legacy, row.is_user_annotation)])
        << row.ToString();
  }
}

TEST(KeyAverages, SumsThatDoNotFitStayAtTheirLimit) {
  KeyAverages averages;
  FunctionEvent event;
  event.name = "op";
  event.end_ns = event.self_ns = INT64_MAX;
  averages.Add(event);
  averages.Add(event);
  EXPECT_EQ(averages.rows()[0].cpu_time_total_ns, INT64_MAX);
}

}  // namespace
}  // namespace ferret
