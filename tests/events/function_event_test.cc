// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Every field and property of PyTorch's FunctionEvent: its default, and what it says once it is set. The rows stand in
// the order of PyTorch's page, to be compared with it.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tests/events/event_maker.h"

namespace ferret {
namespace {

using Fields = FunctionEventFields;
using Event = const FunctionEvent&;
using Shapes = std::vector<std::vector<int64_t>>;
using Strings = std::vector<std::string>;
using Dims = FunctionEvent::Dims;

// What a property says, as text, so that properties of all types fit into one table.
std::string Show(const std::string& text) { return text; }
std::string Show(std::string_view text) { return std::string(text); }
std::string Show(const char* text) { return text; }
std::string Show(bool flag) { return flag ? "true" : "false"; }
std::string Show(int64_t number) { return std::to_string(number); }
std::string Show(double number) {
  char text[40];
  snprintf(text, sizeof(text), "%.3f", number);
  return text;
}
std::string Show(const Tensor& tensor);
std::string Show(std::monostate) { return "None"; }
template <typename T>
std::string Show(const std::vector<T>& list);
std::string Show(const Dims& dims);
std::string Show(const Value& value) {
  return std::visit([](const auto& held) { return Show(held); }, value);
}
template <typename T>
std::string Show(const std::map<std::string, T>& map) {
  std::string text;
  for (const auto& [key, value] : map) text += (text.empty() ? "" : ", ") + key + ": " + Show(value);
  return "{" + text + "}";
}
template <typename T>
std::string Show(const std::vector<T>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + Show(static_cast<const T&>(list[i]));
  return text + "]";
}
std::string Show(const Tensor& tensor) { return tensor.dtype + Show(tensor.sizes) + Show(tensor.strides); }
std::string Show(const Dims& dims) {
  if (dims.is_list) return Show(dims.dims);
  return dims.dims.empty() ? "[]" : Show(dims.dims[0]);
}

struct Row {
  const char* property;
  const char* by_default;
  std::function<void(Fields& fields)> set;
  const char* expected;
  std::function<std::string(Event event)> get;
};

const Row kRows[] = {
    {"id", "0", [](Fields& f) { f.id = 41; }, "41", [](Event e) { return Show(e.id); }},
    {"node_id", "-1", [](Fields& f) { f.node_id = 3; }, "3", [](Event e) { return Show(e.node_id()); }},
    {"name", "", [](Fields& f) { f.name = "aten::mm"; }, "aten::mm", [](Event e) { return Show(e.name); }},
    {"overload_name", "", [](Fields& f) { f.overload_name = "out"; }, "out",
     [](Event e) { return Show(e.overload_name()); }},
    {"trace_name: the name", "", [](Fields& f) { f.name = "a"; }, "a", [](Event e) { return Show(e.trace_name()); }},
    {"trace_name: its own", "", [](Fields& f) { f.trace_name = "ProfilerStep#7"; }, "ProfilerStep#7",
     [](Event e) { return Show(e.trace_name()); }},
    {"time_range.start", "0.000", [](Fields& f) { f.start_us = 1.234; f.end_us = 5; }, "1.234",
     [](Event e) { return Show(e.time_range(0).start); }},
    {"time_range.end", "0.000", [](Fields& f) { f.end_us = 7.001; }, "7.001",
     [](Event e) { return Show(e.time_range(0).end); }},
    {"time_range.elapsed_us", "0.000", [](Fields& f) { f.start_us = 2; f.end_us = 7.5; }, "5.500",
     [](Event e) { return Show(e.time_range(0).elapsed_us()); }},
    {"thread", "0", [](Fields& f) { f.thread = 5; }, "5", [](Event e) { return Show(int64_t{e.thread}); }},
    {"fwd_thread", "0", [](Fields& f) { f.fwd_thread = 2; }, "2", [](Event e) { return Show(int64_t{e.fwd_thread}); }},
    {"count", "1", [](Fields&) {}, "1", [](Event e) { return Show(e.count()); }},
    {"input_shapes", "[]", [](Fields& f) { f.input_shapes = {{2, 3}, {}, {4}}; }, "[[2, 3], [], [4]]",
     [](Event e) { return Show(e.input_shapes()); }},
    {"input_shapes: of a list of tensors none", "[]",
     [](Fields& f) { f.structured_input_shapes = {{true, {{1}, {2}}}, {false, {{3, 4}}}}; }, "[[], [3, 4]]",
     [](Event e) { return Show(e.input_shapes()); }},
    {"structured_input_shapes", "[]",
     [](Fields& f) { f.structured_input_shapes = {{true, {{1}, {2}}}, {false, {{3, 4}}}, {}}; },
     "[[[1], [2]], [3, 4], []]", [](Event e) { return Show(e.structured_input_shapes()); }},
    {"structured_input_strides", "[]",
     [](Fields& f) {
       f.structured_input_shapes = {{true, {{1}, {2}}}, {false, {{3, 4}}}};
       f.structured_input_strides = {{true, {{1}, {1}}}, {false, {{4, 1}}}};
     },
     "[[[1], [1]], [4, 1]]", [](Event e) { return Show(e.structured_input_strides()); }},
    {"input_dtypes", "[]",
     [](Fields& f) {
       f.input_dtypes = {"float", "TensorList", "Scalar", "ScalarList", ""};
       f.concrete_inputs = {{}, {}, 0.5, std::vector<int64_t>{1, 2}, std::string("mean")};
     },
     "[float, TensorList, Scalar, ScalarList, ]", [](Event e) { return Show(e.input_dtypes()); }},
    {"concrete_inputs", "[]",
     [](Fields& f) {
       f.input_shapes = {{2}};
       f.concrete_inputs = {{}, true, int64_t{7}, std::vector<double>{0.25}, std::vector<bool>{true, false}};
     },
     "[None, true, 7, [0.250], [true, false]]", [](Event e) { return Show(e.concrete_inputs()); }},
    {"inputs", "[]",
     [](Fields& f) {
       f.input_shapes = {{2}};
       f.input_dtypes = {"c10::Half"};
       f.structured_input_strides = {{false, {{1}}}};
     },
     "[c10::Half[2][1]]", [](Event e) { return Show(e.inputs()); }},
    {"kwinputs", "{}", [](Fields& f) { f.kwinputs = {{"grid", std::string("g")}, {"stream", int64_t{7}}}; },
     "{grid: g, stream: 7}", [](Event e) { return Show(e.kwinputs()); }},
    {"stack", "[]", [](Fields& f) { f.stack = {"inner", "outer"}; }, "[inner, outer]",
     [](Event e) { return Show(e.stack()); }},
    {"scope", "0", [](Fields& f) { f.scope = RecordScope::kUserScope; }, "7",
     [](Event e) { return Show(static_cast<int64_t>(e.scope)); }},
    {"use_device", "0", [](Fields& f) { f.use_device = DeviceType::kXpu; }, "12",
     [](Event e) { return Show(static_cast<int64_t>(e.use_device)); }},
    {"cpu_memory_usage", "0", [](Fields& f) { f.cpu_memory_usage = -64; }, "-64",
     [](Event e) { return Show(e.cpu_memory_usage()); }},
    {"device_memory_usage", "0", [](Fields& f) { f.device_memory_usage = 512; }, "512",
     [](Event e) { return Show(e.device_memory_usage()); }},
    {"self_cpu_memory_usage", "0", [](Fields& f) { f.cpu_memory_usage = 9; }, "9",
     [](Event e) { return Show(e.self_cpu_memory_usage()); }},
    {"self_cpu_memory_usage: async", "0", [](Fields& f) { f.cpu_memory_usage = 9; f.is_async = true; }, "0",
     [](Event e) { return Show(e.self_cpu_memory_usage()); }},
    {"self_device_memory_usage", "0", [](Fields& f) { f.device_memory_usage = 8; }, "8",
     [](Event e) { return Show(e.self_device_memory_usage()); }},
    {"is_async", "false", [](Fields& f) { f.is_async = true; }, "true", [](Event e) { return Show(bool{e.is_async}); }},
    {"is_remote", "false", [](Fields& f) { f.is_remote = true; }, "true", [](Event e) { return Show(e.is_remote()); }},
    {"is_remote: node_id stays", "-1", [](Fields& f) { f.is_remote = true; }, "-1",
     [](Event e) { return Show(e.node_id()); }},
    {"sequence_nr", "-1", [](Fields& f) { f.sequence_nr = 12; }, "12", [](Event e) { return Show(e.sequence_nr); }},
    {"device_type", "0", [](Fields& f) { f.device_type = DeviceType::kCuda; }, "1",
     [](Event e) { return Show(static_cast<int64_t>(e.device_type)); }},
    {"device_index", "0", [](Fields& f) { f.device_index = 3; }, "3",
     [](Event e) { return Show(int64_t{e.device_index}); }},
    {"device_resource_id: the thread", "0", [](Fields& f) { f.thread = 4; }, "4",
     [](Event e) { return Show(int64_t{e.device_resource_id}); }},
    {"device_resource_id: its own", "0", [](Fields& f) { f.thread = 4; f.device_resource_id = 7; }, "7",
     [](Event e) { return Show(int64_t{e.device_resource_id}); }},
    {"is_legacy", "false", [](Fields& f) { f.is_legacy = true; }, "true",
     [](Event e) { return Show(bool{e.is_legacy}); }},
    {"flops", "0", [](Fields& f) { f.flops = 99; }, "99", [](Event e) { return Show(e.flops()); }},
    {"is_user_annotation", "false", [](Fields& f) { f.is_user_annotation = true; }, "true",
     [](Event e) { return Show(bool{e.is_user_annotation}); }},
    {"is_python_function", "false", [](Fields& f) { f.is_python_function = true; }, "true",
     [](Event e) { return Show(bool{e.is_python_function}); }},
    {"activity_type", "255", [](Fields& f) { f.activity_type = ActivityType::kKernel; }, "5",
     [](Event e) { return Show(static_cast<int64_t>(e.activity_type)); }},
    {"metadata_json", "", [](Fields& f) { f.metadata_json = "\"a\": 1"; }, "\"a\": 1",
     [](Event e) { return Show(e.metadata_json()); }},
    {"flow_id", "0", [](Fields& f) { f.flow_id = 6; }, "6", [](Event e) { return Show(e.flow_id()); }},
    {"flow_type", "0", [](Fields& f) { f.flow_type = FlowType::kAsyncCpuGpu; }, "2",
     [](Event e) { return Show(static_cast<int64_t>(e.flow_type())); }},
    {"flow_start", "false", [](Fields& f) { f.flow_start = true; }, "true",
     [](Event e) { return Show(e.flow_start()); }},
    {"external_id", "0", [](Fields& f) { f.external_id = 31; }, "31",
     [](Event e) { return Show(e.external_id()); }},
    {"linked_correlation_id", "0", [](Fields& f) { f.linked_correlation_id = 32; }, "32",
     [](Event e) { return Show(e.linked_correlation_id()); }},
    {"extra_meta", "{}", [](Fields& f) { f.extra_meta = {{"Collective name", "allreduce"}}; },
     "{Collective name: allreduce}", [](Event e) { return Show(e.extra_meta()); }},
    {"module_hierarchy", "", [](Fields& f) { f.module_hierarchy = "Net.conv1"; }, "Net.conv1",
     [](Event e) { return Show(e.module_hierarchy()); }},
    {"python_id", "-1", [](Fields& f) { f.python_id = 1; }, "1", [](Event e) { return Show(e.python_id()); }},
    {"python_parent_id", "-1", [](Fields& f) { f.python_parent_id = 2; }, "2",
     [](Event e) { return Show(e.python_parent_id()); }},
    {"python_module_id", "-1", [](Fields& f) { f.python_module_id = 3; }, "3",
     [](Event e) { return Show(e.python_module_id()); }},
    {"cpu_time_total", "0.000", [](Fields& f) { f.start_us = 1; f.end_us = 3.5; }, "2.500",
     [](Event e) { return Show(e.cpu_time_total()); }},
    {"cpu_time_total: device event", "0.000", [](Fields& f) { f.end_us = 3; f.device_type = DeviceType::kCuda; },
     "0.000", [](Event e) { return Show(e.cpu_time_total()); }},
    {"cpu_time", "0.000", [](Fields& f) { f.end_us = 3; }, "3.000", [](Event e) { return Show(e.cpu_time()); }},
    {"self_cpu_time_total", "0.000", [](Fields& f) { f.end_us = 3; }, "3.000",
     [](Event e) { return Show(e.self_cpu_time_total()); }},
    {"self_cpu_time_total: async", "0.000", [](Fields& f) { f.end_us = 3; f.is_async = true; }, "0.000",
     [](Event e) { return Show(e.self_cpu_time_total()); }},
    {"device_time_total: device event", "0.000",
     [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kCuda; }, "3.000",
     [](Event e) { return Show(e.device_time_total()); }},
    {"device_time_total: no device in use", "0.000",
     [](Fields& f) { f.end_us = 3; f.device_type = DeviceType::kCuda; }, "0.000",
     [](Event e) { return Show(e.device_time_total()); }},
    {"self_device_time_total: device event", "0.000",
     [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kMtia; }, "3.000",
     [](Event e) { return Show(e.self_device_time_total()); }},
    {"device_time", "0.000", [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kCuda; },
     "3.000", [](Event e) { return Show(e.device_time()); }},
    {"cpu_time_str", "0.000us", [](Fields& f) { f.end_us = 3; }, "3.000us", [](Event e) { return e.cpu_time_str(); }},
    {"cpu_time_total_str", "0.000us", [](Fields& f) { f.end_us = 3500; }, "3.500ms",
     [](Event e) { return e.cpu_time_total_str(); }},
    {"self_cpu_time_total_str", "0.000us", [](Fields& f) { f.end_us = 2e6; }, "2.000s",
     [](Event e) { return e.self_cpu_time_total_str(); }},
    {"device_time_str", "0.000us", [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kCuda; },
     "3.000us", [](Event e) { return e.device_time_str(); }},
    {"device_time_total_str", "0.000us",
     [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kCuda; }, "3.000us",
     [](Event e) { return e.device_time_total_str(); }},
    {"self_device_time_total_str", "0.000us",
     [](Fields& f) { f.end_us = 3; f.device_type = f.use_device = DeviceType::kCuda; }, "3.000us",
     [](Event e) { return e.self_device_time_total_str(); }},
    {"key", "", [](Fields& f) { f.name = "aten::mm"; }, "aten::mm", [](Event e) { return Show(e.key()); }},
    {"is_backward", "false", [](Fields& f) { f.fwd_thread = 1; }, "true",
     [](Event e) { return Show(e.is_backward()); }},
    {"cpu_parent", "none", [](Fields&) {}, "none",
     [](Event e) { return Show(e.cpu_parent == nullptr ? "none" : "some"); }},
    {"cpu_children", "0", [](Fields&) {}, "0",
     [](Event e) { return Show(static_cast<int64_t>(e.cpu_children().size())); }},
    {"kernels", "0", [](Fields&) {}, "0", [](Event e) { return Show(static_cast<int64_t>(e.kernels().size())); }},
};

TEST(FunctionEvent, EveryPropertyHasItsDefaultAndSaysWhatItWasSetTo) {
  for (const Row& row : kRows) {
    EventList list;
    EXPECT_EQ(row.get(MakeFunctionEvent(list, Fields())), row.by_default) << row.property << ", by default";
    Fields fields;
    row.set(fields);
    EXPECT_EQ(row.get(MakeFunctionEvent(list, fields)), row.expected) << row.property;
  }
}

TEST(FunctionEvent, WithoutDetailsEveryPropertyIsAtItsDefault) {
  FunctionEvent event;
  EXPECT_EQ(event.node_id(), -1);
  EXPECT_FALSE(event.is_remote());
  EXPECT_TRUE(event.inputs().empty());
  EXPECT_TRUE(event.stack().empty());
  EXPECT_TRUE(event.kernels().empty());
  EXPECT_EQ(event.overload_name(), "");
  EXPECT_EQ(event.trace_name(), "");
  EXPECT_EQ(event.flops(), 0);
  EXPECT_EQ(event.self_device_memory_usage(), 0);
}

TEST(FunctionEvent, MetadataHasTheNamesThatATraceHas) {
  EventList list;
  Fields fields = Op("aten::mm", 0, 1);
  fields.id = 17;
  fields.sequence_nr = 4;
  fields.fwd_thread = 2;
  fields.input_shapes = {{2, 3}, {}};
  fields.input_dtypes = {"float", "Scalar"};
  fields.concrete_inputs = {{}, int64_t{5}};
  fields.structured_input_strides = {{false, {{3, 1}}}};
  fields.stack = {"inner", "outer"};
  fields.module_hierarchy = "Net.fc";
  fields.kwinputs = {{"beta", 2.0}};
  fields.extra_meta = {{"Process Group Name", "0"}};
  fields.typed_metadata = {{"bytes", int64_t{4096}}};
  EXPECT_EQ(Show(MakeFunctionEvent(list, fields).metadata()),
            "{Call stack: inner;outer, Concrete Inputs: [, 5], Ev Idx: 17, External id: 17, Fwd thread id: 2, "
            "Input Dims: [[2, 3], []], Input Strides: [[3, 1], []], Input type: [float, Scalar], "
            "Module Hierarchy: Net.fc, Process Group Name: 0, Sequence number: 4, beta: 2.000, bytes: 4096}");
  fields = Op("gemm", 0, 1);
  fields.device_type = DeviceType::kCuda;
  fields.device_index = 1;
  fields.device_resource_id = 7;
  fields.external_id = 17;
  EXPECT_EQ(Show(MakeFunctionEvent(list, fields).metadata()), "{External id: 17, device: 1, stream: 7}");
}

TEST(FunctionEvent, EventMetadataHasTheNamesAndTypesOfPyTorchs) {
  EventList list;
  Fields fields;
  fields.extra_meta = {{"Collective name", "\"allreduce\""}, {"In msg nelems", "1024"}, {"Is asynchronized op", "true"},
                       {"Group size", "many"}, {"unknown", "1"}};
  fields.typed_metadata = {{"grid", std::vector<int64_t>{8, 1, 1}}, {"block", std::string("[128, 1, 1]")},
                           {"memory bandwidth (GB/s)", int64_t{5}}, {"warps per SM", 0.5}, {"context", 1.5}};
  EXPECT_EQ(Show(MakeFunctionEvent(list, fields).event_metadata()),
            "{bandwidth_gb_s: 5.000, block: [128, 1, 1], collective_name: allreduce, grid: [8, 1, 1], "
            "in_msg_nelems: 1024, is_async: true, warps_per_sm: 0.500}");
}

TEST(FunctionEvent, PercentagesAreSharesOfTheSelfTimesOfTheList) {
  EventList list({0, DeviceType::kCuda});
  FunctionEvent& outer = AddOp(list, "outer", 0, 8);
  FunctionEvent& inner = AddOp(list, "inner", 1, 3);
  Fields fields = Op("kernel", 2, 5);
  fields.device_type = DeviceType::kCuda;
  FunctionEvent& kernel = AddTo(list, fields);
  fields.is_user_annotation = true;  // around the kernel, counts its time again
  AddTo(list, fields);
  fields = Op("async", 0, 100);
  fields.is_async = true;
  FunctionEvent& async = AddTo(list, fields);
  list.Build();
  EXPECT_DOUBLE_EQ(list.self_cpu_percent(outer), 75);
  EXPECT_DOUBLE_EQ(list.total_cpu_percent(outer), 100);
  EXPECT_DOUBLE_EQ(list.self_cpu_percent(inner), 25);
  EXPECT_DOUBLE_EQ(list.total_device_percent(kernel), 100);
  EXPECT_DOUBLE_EQ(list.total_cpu_percent(async), 0);
  AddOp(list, "later", 200, 208);
  list.Build();
  EXPECT_DOUBLE_EQ(list.self_cpu_percent(outer), 37.5);
}

TEST(FunctionEvent, TimesKeepTheirNanosecondsAndDoNotOverflow) {
  EventList list({1700000000000000000});
  FunctionEvent& event = AddOp(list, "op", 1234567.891, 1234567.892);
  EXPECT_EQ(event.start_ns, 1700000000000000000 + 1234567891);
  EXPECT_EQ(event.duration_ns(), 1);
  const FunctionEvent& backwards = AddOp(list, "op", 5, 3);
  EXPECT_EQ(backwards.duration_ns(), 0);
  FunctionEvent extreme;
  extreme.start_ns = INT64_MIN;
  extreme.end_ns = INT64_MAX;
  EXPECT_EQ(list.Add(extreme).duration_ns(), INT64_MAX);
}

TEST(FunctionEvent, DeviceTimeIsThatOfItsKernelsAndItsChildrens) {
  EventList list({0, DeviceType::kCuda});
  FunctionEvent& outer = AddOp(list, "outer", 0, 10);
  FunctionEvent& inner = AddOp(list, "inner", 1, 5);
  FunctionEventFields fields = Op("legacy", 6, 9);
  fields.is_legacy = true;
  FunctionEvent& legacy = AddTo(list, fields);
  FunctionEvent& spanned = AddOp(list, "spanned", 7, 8);
  ASSERT_EQ(list.append_kernel(outer, "a", 0, 1), "");
  ASSERT_EQ(list.append_kernel(inner, "b", 0, 20), "");
  ASSERT_EQ(list.append_kernel(inner, "c", 1, 300), "");
  ASSERT_EQ(list.append_kernel(legacy, "legacy", 0, 4000), "");
  ASSERT_EQ(list.append_kernel(spanned, "d", 0, 1500), "");
  list.Build();
  EXPECT_DOUBLE_EQ(outer.device_time_total(), 4321);
  EXPECT_DOUBLE_EQ(outer.self_device_time_total(), 1);
  EXPECT_DOUBLE_EQ(inner.self_device_time_total(), 320);
  EXPECT_DOUBLE_EQ(legacy.device_time_total(), 4000);
  EXPECT_DOUBLE_EQ(legacy.self_device_time_total(), 2500);
  ASSERT_EQ(inner.kernels().size(), 2u);
  EXPECT_EQ(inner.kernels()[1].name, "c");
  EXPECT_EQ(inner.kernels()[1].device, 1);
  EXPECT_DOUBLE_EQ(inner.kernels()[1].duration(), 300);
  // The averages go another way through the tree.
  const EventAverages averages = list.key_averages();
  EXPECT_DOUBLE_EQ(RowNamed(averages, "outer")->device_time_total(), 4321);
  EXPECT_DOUBLE_EQ(RowNamed(averages, "legacy")->self_device_time_total(), 2500);
  EXPECT_DOUBLE_EQ(RowNamed(averages, "inner")->self_device_time_total(), 320);
}

TEST(FunctionEvent, ALegacyEventWhosePairGaveNoTimeHasItsChildrens) {
  EventList list({0, DeviceType::kCuda});
  FunctionEventFields fields = Op("around", 0, 10);
  fields.is_legacy = true;
  FunctionEvent& around = AddTo(list, fields);
  fields = Op("failed", 1, 9);
  fields.is_legacy = true;
  FunctionEvent& failed = AddTo(list, fields);
  FunctionEvent& inner = AddOp(list, "inner", 2, 5);
  ASSERT_EQ(list.append_kernel(around, "around", 0, 100), "");
  ASSERT_EQ(list.append_kernel(inner, "inner", 0, 30), "");
  list.Build();
  EXPECT_DOUBLE_EQ(failed.device_time_total(), 30);
  EXPECT_DOUBLE_EQ(failed.self_device_time_total(), 0);
  EXPECT_DOUBLE_EQ(around.device_time_total(), 100);
  EXPECT_DOUBLE_EQ(around.self_device_time_total(), 70);
  const EventAverages averages = list.key_averages();
  EXPECT_DOUBLE_EQ(RowNamed(averages, "failed")->device_time_total(), 30);
  EXPECT_DOUBLE_EQ(RowNamed(averages, "failed")->self_device_time_total(), 0);
  EXPECT_DOUBLE_EQ(RowNamed(averages, "around")->self_device_time_total(), 70);
}

TEST(FunctionEvent, WhatDoesNotFitIntoATreeIsRefused) {
  EventList list;
  FunctionEvent& parent = AddOp(list, "parent", 0, 10);
  FunctionEvent& other = AddOp(list, "other", 0, 10);
  FunctionEvent& child = AddOp(list, "child", 2, 4);
  FunctionEvent& outside = AddOp(list, "outside", 5, 11);
  Fields fields = Op("kernel", 1, 2);
  fields.device_type = DeviceType::kCuda;
  FunctionEvent& kernel = AddTo(list, fields);
  fields = Op("async", 1, 2);
  fields.is_async = true;
  FunctionEvent& async = AddTo(list, fields);

  EXPECT_EQ(list.set_cpu_parent(child, parent), "");
  EXPECT_EQ(list.append_cpu_child(parent, child), "");
  EXPECT_EQ(ChildNames(parent), Strings{"child"});
  EXPECT_DOUBLE_EQ(parent.self_cpu_time_total(), 8);
  EXPECT_NE(list.append_cpu_child(parent, child).find("already"), std::string::npos);
  EXPECT_NE(list.set_cpu_parent(child, other).find("another parent"), std::string::npos);
  EXPECT_NE(list.append_cpu_child(other, child).find("another parent"), std::string::npos);
  FunctionEvent& upper = list.Add(parent);
  FunctionEvent& lower = list.Add(parent);
  EXPECT_EQ(list.append_cpu_child(upper, lower), "");
  EXPECT_NE(list.append_cpu_child(lower, upper).find("above"), std::string::npos) << "no event is above itself";
  EXPECT_NE(list.append_cpu_child(upper, upper), "");
  EXPECT_NE(list.append_cpu_child(parent, outside).find("interval"), std::string::npos);
  EXPECT_NE(list.set_cpu_parent(outside, parent).find("interval"), std::string::npos);
  EXPECT_NE(list.append_cpu_child(parent, kernel).find("CPU"), std::string::npos);
  EXPECT_NE(list.set_cpu_parent(child, kernel).find("CPU"), std::string::npos);
  EXPECT_NE(list.append_cpu_child(parent, async).find("asynchronous"), std::string::npos);
  EXPECT_NE(list.append_cpu_child(parent, parent).find("its own parent"), std::string::npos);
  EXPECT_NE(list.append_kernel(kernel, "k", 0, 1).find("CPU"), std::string::npos);
  EXPECT_NE(list.append_kernel(parent, "k", 0, -1).find("duration"), std::string::npos);
  EXPECT_EQ(ChildNames(parent), Strings{"child"});
  EXPECT_TRUE(parent.kernels().empty());
}

TEST(FunctionEvent, DeviceTimesOfATreeBuiltByHandAreAddedUpInAnyOrderOfTheList) {
  EventList list({0, DeviceType::kCuda});
  FunctionEvent& child = AddOp(list, "child", 0, 10);
  FunctionEvent& parent = AddOp(list, "parent", 0, 10);
  ASSERT_EQ(list.append_cpu_child(parent, child), "");
  ASSERT_EQ(list.set_cpu_parent(child, parent), "");
  ASSERT_EQ(list.append_kernel(child, "k", 0, 2), "");
  EXPECT_DOUBLE_EQ(RowNamed(list.key_averages(), "parent")->device_time_total(), 2);
}

TEST(FunctionEvent, ToStringShowsWhatItIsInOneLine) {
  EventList list;
  AddOp(list, "outer", 0, 1500);
  AddOp(list, "inner", 1, 2);
  list.Build();
  const std::string text = list[0].ToString();
  for (const char* part : {"id=1", "name=outer", "cpu_time=1.500ms", "cpu_children=[2]", "sequence_nr=-1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

}  // namespace
}  // namespace ferret
