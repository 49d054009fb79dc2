// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FunctionEventAvg: many function events with the same key, added up, as torch.autograd.profiler_util.FunctionEventAvg
// describes it. EventAverages: a list of them, as key_averages() gives it.

#ifndef FERRET_FUNCTION_EVENT_AVG_H_
#define FERRET_FUNCTION_EVENT_AVG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ferret/function_event.h"

namespace ferret {

struct FERRET_EXPORT_SYMBOL FunctionEventAvg {
  // Of the first event that was added.
  std::string key;
  std::string overload_name;                       // "" unless grouped by it
  std::vector<std::vector<int64_t>> input_shapes;  // [] unless grouped by them
  std::vector<std::string> stack;                  // the innermost frames that it was grouped by
  int64_t node_id = -1;
  RecordScope scope = RecordScope::kFunction;
  DeviceType device_type = DeviceType::kCpu;
  DeviceType use_device = DeviceType::kCpu;  // kCpu: PyTorch's None
  bool is_async = false;
  bool is_remote = false;
  bool is_legacy = false;
  bool is_user_annotation = false;
  // In the tree of the list, which has to live as long as they are used; null and none where there is no tree.
  const FunctionEvent* cpu_parent = nullptr;
  std::vector<const FunctionEvent*> cpu_children() const;

  // Sums.
  int64_t count = 0;
  int64_t cpu_time_total_ns = 0;
  int64_t self_cpu_time_total_ns = 0;
  int64_t device_time_total_ns = 0;
  int64_t self_device_time_total_ns = 0;
  int64_t cpu_memory_usage = 0;  // bytes
  int64_t self_cpu_memory_usage = 0;
  int64_t device_memory_usage = 0;
  int64_t self_device_memory_usage = 0;
  int64_t flops = 0;

  // Shares of the self times of all rows of the list, 0 to 100; NaN where their sum is 0, -1 outside of a list. Total
  // times count nested events again and again, so theirs may exceed 100.
  double self_cpu_percent = -1;
  double total_cpu_percent = -1;  // 0 for asynchronous events
  double total_device_percent = -1;

  // Microseconds.
  double cpu_time_total() const { return static_cast<double>(cpu_time_total_ns) / 1000.0; }
  double self_cpu_time_total() const { return static_cast<double>(self_cpu_time_total_ns) / 1000.0; }
  double device_time_total() const { return static_cast<double>(device_time_total_ns) / 1000.0; }
  double self_device_time_total() const { return static_cast<double>(self_device_time_total_ns) / 1000.0; }
  // Per call.
  double cpu_time() const { return count == 0 ? 0.0 : cpu_time_total() / static_cast<double>(count); }
  double device_time() const { return count == 0 ? 0.0 : device_time_total() / static_cast<double>(count); }

  std::string cpu_time_str() const;  // "12.345us", "1.500ms", "2.000s"
  std::string device_time_str() const;
  std::string cpu_time_total_str() const;
  std::string device_time_total_str() const;
  std::string self_cpu_time_total_str() const;
  std::string self_device_time_total_str() const;

  // Takes the fields over from the first event and adds up the sums. The event's key and group must be the row's own.
  void Add(const FunctionEvent& event);
  void Add(const FunctionEventAvg& other);

  // One line, for people.
  std::string ToString() const;

  // The event that was first, if it is in a tree.
  const FunctionEvent* first_event = nullptr;
};

// Events are grouped by (name, node_id, device_type, is_legacy, is_user_annotation) and by what is chosen here.
struct AverageOptions {
  bool group_by_input_shapes = false;
  int group_by_stack_n = 0;  // so many frames, from the innermost
  bool group_by_overload_name = false;
  bool include_python_functions = true;
};

struct TableOptions {
  // "" keeps the order. Otherwise descending by one of: cpu_time, device_time, cpu_time_total, device_time_total,
  // self_cpu_time_total, self_device_time_total, cpu_memory_usage, device_memory_usage, self_cpu_memory_usage,
  // self_device_memory_usage, count, flops. "cuda", "xpu" and "privateuse1" stand for "device".
  std::string sort_by = {};
  int64_t row_limit = 100;  // negative: all
  // nullopt: as wide as the longest.
  std::optional<size_t> max_src_column_width = 75;
  std::optional<size_t> max_name_column_width = 55;
  std::optional<size_t> max_shapes_column_width = 80;
  std::string header = {};
  bool top_level_events_only = false;  // only events without a parent
  std::string time_unit = {};            // "s", "ms" or "us" for all times; "": each its own
};

struct FERRET_EXPORT_SYMBOL EventAverages {
  std::vector<FunctionEventAvg> rows;
  bool profile_memory = false;  // as EventList::Config
  bool with_flops = false;

  size_t size() const { return rows.size(); }
  bool empty() const { return rows.empty(); }
  const FunctionEventAvg& operator[](size_t index) const { return rows[index]; }
  std::vector<FunctionEventAvg>::const_iterator begin() const { return rows.begin(); }
  std::vector<FunctionEventAvg>::const_iterator end() const { return rows.end(); }

  double self_cpu_time_total() const;
  FunctionEventAvg total_average() const;
  // As EventList::table and EventList::export_stacks.
  std::string table(const TableOptions& options = {}, std::string* error = nullptr) const;
  std::string export_stacks(const std::string& path, const std::string& metric) const;
};

}  // namespace ferret

#endif  // FERRET_FUNCTION_EVENT_AVG_H_
