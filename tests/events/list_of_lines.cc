// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes an EventList of lines on stdin and prints what it says of them, for torch_parity_test.py.
//
//     list_of_lines < EVENTS       lines of "key=value" fields, separated by tabs; lists by "|", shapes as "2x3"

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "ferret/event_list.h"

namespace ferret {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

void AddLine(const std::string& line, EventList* list) {
  std::map<std::string, std::string> given;
  for (const std::string& field : Split(line, '\t')) {
    const size_t equals = field.find('=');
    given[field.substr(0, equals)] = field.substr(equals + 1);
  }
  const auto number = [&given](const char* key) { return given.count(key) == 0 ? 0 : std::stoll(given[key]); };
  FunctionEventFields fields;
  fields.id = number("id");
  fields.name = given["name"];
  fields.thread = static_cast<uint32_t>(number("thread"));
  fields.start_us = std::stod(given["start_us"]);
  fields.end_us = std::stod(given["end_us"]);
  fields.overload_name = given["overload_name"];
  fields.fwd_thread = static_cast<uint32_t>(number("fwd_thread"));
  fields.scope = static_cast<RecordScope>(number("scope"));
  fields.sequence_nr = number("sequence_nr");
  fields.node_id = number("node_id");
  fields.is_async = number("is_async") != 0;
  fields.is_user_annotation = number("is_user_annotation") != 0;
  fields.device_type = static_cast<DeviceType>(number("device_type"));
  fields.cpu_memory_usage = number("cpu_memory_usage");
  fields.device_memory_usage = number("device_memory_usage");
  fields.flops = number("flops");
  fields.stack = Split(given["stack"], '|');
  for (const std::string& shape : Split(given["input_shapes"], '|')) {
    std::vector<int64_t>& sizes = fields.input_shapes.emplace_back();
    for (const std::string& size : Split(shape, 'x')) sizes.push_back(std::stoll(size));
    fields.input_dtypes.push_back("float");
  }
  FunctionEvent& event = MakeFunctionEvent(*list, fields);
  for (const std::string& duration : Split(given["kernels"], '|')) {
    list->append_kernel(event, "kernel", 0, std::stod(duration));
  }
}

void PrintTable(const EventAverages& averages, const char* sort_by, const char* time_unit) {
  TableOptions options;
  options.sort_by = sort_by;
  options.time_unit = time_unit;
  std::string error;
  std::printf("#### %s\n%s%s", sort_by, averages.table(options, &error).c_str(), error.c_str());
}

int Main() {
  std::string line;
  std::getline(std::cin, line);  // use_device, profile_memory, with_flops
  EventList::Config config;
  int use_device = 0;
  int memory = 0;
  int flops = 0;
  if (std::sscanf(line.c_str(), "%d %d %d", &use_device, &memory, &flops) != 3) return 2;
  config.use_device = static_cast<DeviceType>(use_device);
  config.profile_memory = memory != 0;
  config.with_flops = flops != 0;
  EventList list(config);
  while (std::getline(std::cin, line)) AddLine(line, &list);
  list.Build();
  for (const FunctionEvent& event : list) {
    std::printf("%lld %lld %.3f %.3f %.3f %.3f %lld %lld %s\n", static_cast<long long>(event.id),
                static_cast<long long>(event.cpu_parent == nullptr ? 0 : event.cpu_parent->id), event.cpu_time_total(),
                event.self_cpu_time_total(), event.device_time_total(), event.self_device_time_total(),
                static_cast<long long>(event.self_cpu_memory_usage()),
                static_cast<long long>(event.self_device_memory_usage()), absl::StrJoin(event.stack(), "|").c_str());
  }
  PrintTable(list.key_averages(), "", "");
  PrintTable(list.key_averages(), "count", "ms");
  AverageOptions options;
  options.group_by_input_shapes = true;
  PrintTable(list.key_averages(options), "", "");
  options.group_by_overload_name = true;
  PrintTable(list.key_averages(options), "cpu_memory_usage", "us");
  options = AverageOptions();
  options.group_by_stack_n = 2;
  PrintTable(list.key_averages(options), "", "s");
  const FunctionEventAvg total = list.total_average();
  std::printf("#### total\n%lld %.3f %.3f %.3f %.3f\n", static_cast<long long>(total.count), total.cpu_time_total(),
              total.self_cpu_time_total(), total.device_time_total(), total.self_device_time_total());
  return 0;
}

}  // namespace
}  // namespace ferret

int main() { return ferret::Main(); }
