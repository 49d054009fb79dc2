// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an EventList writes to files, and what it owns.

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "tests/events/event_maker.h"

namespace ferret {
namespace {

std::string TempPath(const std::string& name) { return testing::TempDir() + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(EventListExports, TheTraceIsJsonWithAnArrowOfTwoEndsForEachKernel) {
  EventList list({1000000, DeviceType::kCuda});
  FunctionEventFields fields = Op("quoted \"name\"\n\x01", 1.5, 10);
  fields.id = 7;
  FunctionEvent& op = AddTo(list, fields);
  fields = Op("gemm", 20, 24.25);
  fields.device_type = DeviceType::kCuda;
  fields.device_index = 1;
  fields.device_resource_id = 13;
  fields.linked_correlation_id = 7;
  AddTo(list, fields);
  ASSERT_EQ(list.append_kernel(op, "gemm", 1, 4.25), "");
  ASSERT_EQ(list.append_kernel(op, "unknown", 1, 1), "");
  fields = Op("remote", 0, 1);
  fields.node_id = 3;
  fields.is_remote = true;
  AddTo(list, fields);
  MemoryEvent record;
  record.time_ns = 5;
  list.AddMemory(record);
  list.Build();
  const std::string path = TempPath("trace.json");
  ASSERT_EQ(list.export_chrome_trace(path), "");
  rapidjson::Document trace;
  const std::string text = Read(path);
  ASSERT_FALSE(trace.Parse(text.c_str()).HasParseError()) << text;
  ASSERT_TRUE(trace.IsArray());
  std::map<std::string, int> phases;
  std::map<int, std::map<std::string, const rapidjson::Value*>> arrows;
  const rapidjson::Value* slice = nullptr;
  const rapidjson::Value* kernel = nullptr;
  for (const auto& event : trace.GetArray()) {
    const std::string phase = event["ph"].GetString();
    ++phases[phase];
    if (phase != "X") {
      arrows[event["id"].GetInt()][phase] = &event;
    } else if (event["name"] == "gemm") {
      kernel = &event;
    } else if (event["name"] == "remote") {
      EXPECT_STREQ(event["tid"].GetString(), "node_id:3, thread_id:1");
    } else {
      slice = &event;
    }
  }
  EXPECT_EQ(phases, (std::map<std::string, int>{{"X", 3}, {"s", 2}, {"f", 2}}));
  ASSERT_NE(slice, nullptr);
  ASSERT_NE(kernel, nullptr);
  EXPECT_STREQ((*slice)["name"].GetString(), "quoted \"name\"\n\x01");
  EXPECT_DOUBLE_EQ((*slice)["ts"].GetDouble(), 1.5);
  EXPECT_DOUBLE_EQ((*slice)["dur"].GetDouble(), 8.5);
  EXPECT_STREQ((*slice)["pid"].GetString(), "CPU functions");
  ASSERT_EQ(arrows.size(), 2u);
  for (auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u) << id;
    EXPECT_STREQ((*ends["s"])["cat"].GetString(), "cpu_to_cuda");
    EXPECT_EQ((*ends["s"])["ts"], (*slice)["ts"]);
    EXPECT_EQ((*ends["s"])["name"], (*ends["f"])["name"]);
  }
  EXPECT_EQ((*arrows[0]["f"])["ts"], (*kernel)["ts"]);
  EXPECT_EQ((*arrows[0]["f"])["tid"], (*kernel)["tid"]);
  EXPECT_DOUBLE_EQ((*arrows[1]["f"])["ts"].GetDouble(), 10);
}

TEST(EventListExports, AnEmptyListIsAnEmptyTrace) {
  EventList list;
  const std::string path = TempPath("empty.json");
  ASSERT_EQ(list.export_chrome_trace(path), "");
  rapidjson::Document trace;
  EXPECT_FALSE(trace.Parse(Read(path).c_str()).HasParseError());
  EXPECT_TRUE(trace.IsArray() && trace.Empty());
}

TEST(EventListExports, StacksAreFoldedRootFirstWithWholeMicroseconds) {
  EventList list({0, DeviceType::kCuda});
  FunctionEventFields fields = Op("op", 0, 12.9);
  fields.stack = {"a.py(1): f g", "b;c\td\ne"};
  FunctionEvent& op = AddTo(list, fields);
  fields = Op("short", 20, 20.9);
  fields.stack = {"x"};
  AddTo(list, fields);
  AddOp(list, "no stack", 30, 40);
  ASSERT_EQ(list.append_kernel(op, "k", 0, 5.5), "");
  list.Build();
  const std::string path = TempPath("stacks.txt");
  ASSERT_EQ(list.export_stacks(path, "self_cpu_time_total"), "");
  EXPECT_EQ(Read(path), "b_c_d_e;a.py(1):_f_g 12\n");
  ASSERT_EQ(list.export_stacks(path, "self_cuda_time_total"), "");
  EXPECT_EQ(Read(path), "b_c_d_e;a.py(1):_f_g 5\n");
  AverageOptions options;
  options.group_by_stack_n = 1;
  ASSERT_EQ(list.key_averages(options).export_stacks(path, "self_cpu_time_total"), "");
  EXPECT_EQ(Read(path), "a.py(1):_f_g 12\n");
}

TEST(EventListExports, WhatCannotBeWrittenIsSaid) {
  EventList list;
  EXPECT_NE(list.export_stacks(TempPath("s"), "cpu_time").find("metric=cpu_time"), std::string::npos);
  const std::string nowhere = TempPath("no/such/folder/file");
  EXPECT_EQ(list.export_chrome_trace(nowhere), nowhere + ": No such file or directory");
  EXPECT_EQ(list.export_stacks(nowhere, "self_cpu_time_total"), nowhere + ": No such file or directory");
  EXPECT_EQ(list.export_chrome_trace("/dev/full"), "/dev/full: No space left on device");
}

TEST(EventList, OwnsWhatItWasGiven) {
  EventList list;
  {
    std::string name = "a name that is not the list's";
    std::string recorded;
    std::string kernel = "kernel";
    EventDetails details;
    details.trace_name = name;
    details.metadata_json = name;
    details.kernels.push_back({kernel, 0, 5});
    FunctionEvent event;
    event.name = name;
    event.details = &details;
    event.cpu_parent = event.last_child = event.next_sibling = &event;
    list.Add(event);
    list.Add(event);
    name.assign(name.size(), 'x');
    kernel.assign(kernel.size(), 'x');
  }
  EXPECT_EQ(list[0].name, "a name that is not the list's");
  EXPECT_EQ(list[0].trace_name(), list[0].name);
  EXPECT_EQ(list[0].details->metadata_json, list[0].name);
  EXPECT_EQ(list[0].kernels()[0].name, "kernel");
  EXPECT_EQ(list[0].cpu_parent, nullptr);
  EXPECT_TRUE(list[0].cpu_children().empty());
  EXPECT_EQ(list[0].name.data(), list[1].name.data());
  EXPECT_NE(list[0].details, list[1].details);
}

TEST(EventList, ANameIdThatMeansAnotherNameIsNotBelieved) {
  EventList list;
  FunctionEvent event;
  event.name_id = 3;
  for (const char* name : {"one", "two", "one"}) {
    event.name = name;
    list.Add(event);
  }
  event.name_id = UINT32_MAX;
  event.name = "far";
  list.Add(event);
  EXPECT_EQ(list[0].name, "one");
  EXPECT_EQ(list[1].name, "two");
  EXPECT_EQ(list[2].name, "one");
  EXPECT_EQ(list[3].name, "far");
}

TEST(EventList, MovesWithItsEventsAndLeavesAnEmptyOne) {
  EventList list({5});
  FunctionEvent& event = AddOp(list, "op", 0, 10);
  EventList moved(std::move(list));
  EXPECT_EQ(&moved[0], &event);
  EXPECT_EQ(moved.start_ns(), 5);
  EXPECT_TRUE(list.empty());  // NOLINT: what a moved-from list is, is stated
  AddOp(list, "another", 0, 1);
  moved = std::move(list);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].name, "another");
  EXPECT_EQ(list.size(), 0u);
}

}  // namespace
}  // namespace ferret
