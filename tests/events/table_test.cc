// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages by key and the tables of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/events/table.h"
#include "tests/events/event_maker.h"

namespace ferret {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The cell under the header, by the columns that the rules draw.
std::string Cell(const std::string& table, size_t row, const std::string& header) {
  const std::vector<std::string> lines = Lines(table);
  size_t rule = 0;
  while (rule < lines.size() && lines[rule].rfind("---", 0) != 0) ++rule;
  if (rule + 3 + row >= lines.size()) return "no such row";
  for (size_t at = 0; at < lines[rule].size();) {
    const size_t end = lines[rule].find(' ', at);
    const auto cell = [&](const std::string& line) {
      std::string text = line.substr(std::min(at, line.size()), end - at);
      text.erase(0, text.find_first_not_of(' '));
      text.erase(text.find_last_not_of(' ') + 1);
      return text;
    };
    if (cell(lines[rule + 1]) == header) return cell(lines[rule + 3 + row]);
    at = end + 2;
  }
  return "no such column";
}

TEST(Table, AnEmptyListHasNone) {
  EventList list;
  list.Build();
  EXPECT_EQ(list.table(), "");
  EXPECT_EQ(list.key_averages().table(), "");
}

TEST(Table, HasTheColumnsAndWidthsOfTorchProfiler) {
  EventList list;
  AddOp(list, "aten::linear", 0, 100);
  AddOp(list, "aten::addmm", 20, 60);
  list.Build();
  EXPECT_EQ(list.key_averages().table({"self_cpu_time_total"}),
            "----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
            "            Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  \n"
            "----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
            "    aten::linear        60.00%      60.000us       100.00%     100.000us     100.000us             1  \n"
            "     aten::addmm        40.00%      40.000us        40.00%      40.000us      40.000us             1  \n"
            "----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
            "Self CPU time total: 100.000us\n");
}

// Upstream's source location and FLOPs stand under each other's headers when both are there.
TEST(Table, EveryValueStandsUnderItsOwnHeaderWhateverColumnsThereAre) {
  EventList list({0, DeviceType::kCuda, true, true});
  FunctionEventFields fields = Op("aten::mm", 0, 100);
  fields.overload_name = "out";
  fields.input_shapes = {{20, 30}, {30, 40}};
  fields.input_dtypes = {"float", "float"};
  fields.stack = {"model.py(3): forward", "train.py(9): main"};
  fields.cpu_memory_usage = 3072;
  fields.device_memory_usage = 5 << 20;
  fields.node_id = 2;
  FunctionEvent& event = AddTo(list, fields);
  ASSERT_EQ(list.append_kernel(event, "gemm", 0, 30), "");
  FunctionEventFields kernel = Op("gemm", 50, 80);
  kernel.device_type = DeviceType::kCuda;
  AddTo(list, kernel);
  list.Build();
  AverageOptions options;
  options.group_by_input_shapes = true;
  options.group_by_stack_n = 5;
  options.group_by_overload_name = true;
  const EventAverages averages = list.key_averages(options);
  const std::string table = averages.table();
  const std::pair<const char*, const char*> cells[] = {
      {"Name", "aten::mm"},        {"Overload Name", "out"},       {"Self CPU %", "100.00%"},
      {"Self CPU", "100.000us"},   {"CPU total %", "100.00%"},     {"CPU total", "100.000us"},
      {"CPU time avg", "100.000us"}, {"Self CUDA", "30.000us"},    {"Self CUDA %", "100.00%"},
      {"CUDA total", "30.000us"},  {"CUDA time avg", "30.000us"},  {"CPU Mem", "3.00 KB"},
      {"Self CPU Mem", "3.00 KB"}, {"CUDA Mem", "5.00 MB"},        {"Self CUDA Mem", "5.00 MB"},
      {"# of Calls", "1"},         {"Node ID", "2"},               {"Input Shapes", "[[20, 30], [30, 40]]"},
      {"Source Location", "model.py(3): forward"}, {"Total KFLOPs", "48.000"},
  };
  for (const auto& [header, value] : cells) EXPECT_EQ(Cell(table, 0, header), value) << header << "\n" << table;
  EXPECT_EQ(Cell(table, 1, "Source Location"), "train.py(9): main") << table;
  EXPECT_EQ(Cell(table, 1, "Total KFLOPs"), "");
  EXPECT_EQ(Cell(table, 2, "Source Location"), "");
  EXPECT_EQ(Cell(table, 3, "Name"), "gemm");
  EXPECT_EQ(Cell(table, 3, "Total KFLOPs"), "--");
  EXPECT_NE(table.find("Self CUDA time total: 30.000us\n"), std::string::npos) << table;
  const std::vector<std::string> lines = Lines(table);
  for (size_t i = 1; i + 3 < lines.size(); ++i) EXPECT_EQ(lines[i].size(), lines[0].size()) << lines[i];
}

TEST(Table, LongTextsAreCutAsTorchProfilerCutsThem) {
  EventList list;
  FunctionEventFields fields = Op(std::string(60, 'n'), 0, 1);
  fields.stack = {std::string(100, 'l') + "right end"};
  fields.input_shapes = std::vector<std::vector<int64_t>>(40, {1, 2});
  AddTo(list, fields);
  list.Build();
  AverageOptions options;
  options.group_by_input_shapes = true;
  options.group_by_stack_n = 1;
  const std::string table = list.key_averages(options).table();
  EXPECT_EQ(Cell(table, 0, "Name"), std::string(52, 'n') + "...");
  EXPECT_EQ(Cell(table, 0, "Source Location"), "..." + std::string(63, 'l') + "right end");
  EXPECT_EQ(Cell(table, 0, "Input Shapes").size(), 80u);
  TableOptions wide;
  wide.max_name_column_width = wide.max_shapes_column_width = wide.max_src_column_width = std::nullopt;
  const std::string whole = list.key_averages(options).table(wide);
  EXPECT_EQ(Cell(whole, 0, "Name"), std::string(60, 'n'));
  EXPECT_EQ(Cell(whole, 0, "Source Location"), std::string(100, 'l') + "right end");
}

TEST(Table, NamesOfOtherScriptsAreAlignedAndNeverCutInsideACharacter) {
  EventList list;
  AddOp(list, "Schichtgröße", 0, 1);
  std::string name;
  for (int i = 0; i < 60; ++i) name += "層";
  AddOp(list, name, 2, 3);
  AddOp(list, "two\nlines\x1b[31m", 4, 5);
  list.Build();
  const std::string table = list.key_averages().table();
  EXPECT_NE(table.find(std::string(55 - 12, ' ') + "Schichtgröße  "), std::string::npos) << table;
  std::string cut;
  for (int i = 0; i < 52; ++i) cut += "層";
  EXPECT_NE(table.find("\n" + cut + "...  "), std::string::npos) << table;
  EXPECT_NE(table.find("two lines [31m"), std::string::npos) << table;
}

TEST(Table, IsSortedDownwardsAndLimited) {
  EventList list;
  AddOp(list, "a", 0, 5);
  AddOp(list, "b", 10, 30);
  AddOp(list, "c", 40, 45);
  list.Build();
  const EventAverages averages = list.key_averages();
  EXPECT_EQ(Cell(averages.table(), 0, "Name"), "a");
  const std::string sorted = averages.table({"cpu_time_total"});
  EXPECT_EQ(Cell(sorted, 0, "Name"), "b");
  EXPECT_EQ(Cell(sorted, 1, "Name"), "a");  // equal to c, which came later
  TableOptions two = {"cpu_time_total", 2};
  EXPECT_EQ(Lines(averages.table(two)).size(), Lines(sorted).size() - 1);
  two.row_limit = -1;
  EXPECT_EQ(averages.table(two), sorted);
  two.row_limit = 0;
  EXPECT_EQ(Lines(averages.table(two)).size(), Lines(sorted).size() - 3);
  EXPECT_EQ(averages.table({"cuda_time_total"}), averages.table({"device_time_total"}));
}

TEST(Table, BadOptionsAreNamed) {
  EventList list;
  AddOp(list, "a", 0, 5);
  list.Build();
  std::string error;
  EXPECT_EQ(list.key_averages().table({"fastest"}, &error), "");
  EXPECT_NE(error.find("sort_by=fastest"), std::string::npos) << error;
  EXPECT_NE(error.find("self_cpu_time_total"), std::string::npos) << error;
  TableOptions options;
  options.time_unit = "min";
  EXPECT_EQ(list.table(options, &error), "");
  EXPECT_NE(error.find("time_unit=min"), std::string::npos) << error;
  options.time_unit = "ms";
  EXPECT_EQ(Cell(list.table(options, &error), 0, "CPU total"), "0.005ms");
  EXPECT_EQ(error, "");
}

TEST(Table, TimesChooseTheirUnitUnlessOneIsForced) {
  EventList list;
  AddOp(list, "a", 0, 999.5);
  AddOp(list, "b", 1000, 2000);
  AddOp(list, "c", 2000, 1002000);
  list.Build();
  const std::string table = list.table();
  EXPECT_EQ(Cell(table, 0, "CPU total"), "999.500us");
  EXPECT_EQ(Cell(table, 1, "CPU total"), "1.000ms");
  EXPECT_EQ(Cell(table, 2, "CPU total"), "1.000s");
  TableOptions options;
  options.time_unit = "us";
  EXPECT_EQ(Cell(list.table(options), 2, "CPU total"), "1000000.000us");
}

TEST(Table, HeaderAndTopLevelOnlyAreSaidAboveIt) {
  EventList list;
  AddOp(list, "outer", 0, 10);
  AddOp(list, "inner", 1, 2);
  list.Build();
  TableOptions options;
  options.header = "Run 7";
  options.top_level_events_only = true;
  const std::string table = list.table(options);
  const std::vector<std::string> lines = Lines(table);
  EXPECT_EQ(lines[0].find_first_not_of('='), std::string::npos);
  EXPECT_EQ(lines[1], "Run 7");
  EXPECT_NE(lines[3].find("top-level"), std::string::npos);
  EXPECT_NE(table.find("outer"), std::string::npos);
  EXPECT_EQ(table.find("inner"), std::string::npos);
}

TEST(Table, SharesOfNothingAreNaNAndAnAsynchronousEventHasNone) {
  EventList list;
  FunctionEventFields fields = Op("async", 0, 10);
  fields.is_async = true;
  AddTo(list, fields);
  list.Build();
  const std::string table = list.key_averages().table();
  EXPECT_EQ(Cell(table, 0, "Self CPU %"), "NaN");
  EXPECT_EQ(Cell(table, 0, "CPU total %"), "0");
}

TEST(Table, DeviceTimesOfNoNamedDeviceAreAnError) {
  EventAverages averages;
  averages.rows.resize(1);
  averages.rows[0].self_device_time_total_ns = 1;
  std::string error;
  EXPECT_EQ(averages.table({}, &error), "");
  EXPECT_NE(error.find("use_device"), std::string::npos) << error;
}

TEST(Table, TheScaleOfFlopsIsThatOfTheSmallest) {
  EventList list({0, DeviceType::kCpu, false, true});
  FunctionEventFields fields = Op("a", 0, 1);
  fields.flops = 2000000;
  AddTo(list, fields);
  fields = Op("b", 2, 3);
  fields.flops = 1500;
  AddTo(list, fields);
  list.Build();
  const std::string table = list.key_averages().table();
  EXPECT_EQ(Cell(table, 0, "Total KFLOPs"), "2000.000");
  EXPECT_EQ(Cell(table, 1, "Total KFLOPs"), "1.500");
}

TEST(Table, TakesColumnsOfTheCallers) {
  EventAverages averages;
  averages.rows.resize(2);
  averages.rows[0].key = "a";
  averages.rows[1].key = "b";
  averages.rows[1].count = 5;
  TableSource source;
  source.count = 2;
  source.row = [&](size_t row) -> const FunctionEventAvg& { return averages.rows[row]; };
  source.extra.push_back({"p99", [](size_t row) { return "p" + std::to_string(row); }});
  const std::string table = PrintTable(source, {"count"}, nullptr);
  EXPECT_EQ(Cell(table, 0, "Name"), "b");
  EXPECT_EQ(Cell(table, 0, "p99"), "p1");
  EXPECT_EQ(Cell(table, 1, "p99"), "p0");
}

}  // namespace
}  // namespace ferret
