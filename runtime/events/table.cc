// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/events/averaging.h"
#include "runtime/events/sort_key.h"
#include "runtime/events/table_text.h"
#include "runtime/events/tree_walk.h"
#include "runtime/events/value_text.h"

namespace ferret {
namespace {

constexpr size_t kColumnWidth = 12;
constexpr size_t kSpaceBeside = 4;
constexpr char kBetween[] = "  ";

struct Column {
  std::string header;
  size_t width;
  std::function<std::string(const FunctionEventAvg& row, size_t index)> text;
  bool left_aligned = false;
  bool is_stack = false;
};

// What all rows together say about the columns.
struct Summary {
  bool any_device_time = false;
  bool any_device_memory = false;
  bool any_shapes = false;
  bool any_overload = false;
  bool any_stack = false;
  bool any_node = false;
  size_t name_width = 0;
  size_t shapes_width = 0;
  size_t frame_width = 0;
  int64_t least_flops = 0;  // of those that are positive
  SelfTimes sums;

  void Add(const FunctionEventAvg& row) {
    any_device_time |= row.self_device_time_total_ns > 0;
    any_device_memory |= row.self_device_memory_usage > 0;
    any_shapes |= !row.input_shapes.empty();
    any_overload |= !row.overload_name.empty();
    any_stack |= !row.stack.empty();
    any_node |= row.node_id != -1;
    name_width = std::max(name_width, TextWidth(row.key));
    shapes_width = std::max(shapes_width, row.input_shapes.empty() ? 2 : ShapesText(row.input_shapes).size());
    for (const std::string& frame : row.stack) frame_width = std::max(frame_width, TextWidth(frame));
    if (row.flops > 0 && (least_flops == 0 || row.flops < least_flops)) least_flops = row.flops;
    sums.Add(row);
  }
};

size_t ColumnWidth(size_t longest, const std::optional<size_t>& limit) {
  return std::min(longest + kSpaceBeside, limit.value_or(SIZE_MAX));
}

std::string NameText(const std::string& name, const std::optional<size_t>& limit) {
  const std::string line = OneLine(name);
  if (!limit.has_value() || TextWidth(line) + 3 < *limit) return line;
  return CutRight(line, *limit > 3 ? *limit - 3 : 0) + "...";
}

std::string TimeIn(const std::string& unit, double time_us) {
  if (unit == "s") return absl::StrFormat("%.3fs", time_us / 1e6);
  if (unit == "ms") return absl::StrFormat("%.3fms", time_us / 1e3);
  if (unit == "us") return absl::StrFormat("%.3fus", time_us);
  return TimeText(time_us);
}

// One unit for the whole column.
struct FlopsScale {
  const char* unit = "FLOPs";
  double divisor = 1;
};
FlopsScale ScaleFor(int64_t least) {
  static constexpr const char* kUnits[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
  FlopsScale scale;
  for (size_t i = 1; i < std::size(kUnits) && static_cast<double>(least) >= scale.divisor * 1000.0; ++i) {
    scale = {kUnits[i], scale.divisor * 1000.0};
  }
  return scale;
}

class Printer {
 public:
  Printer(const TableSource& source, const TableOptions& options, const Summary& summary, DeviceType use_device)
      : source_(source), options_(options), summary_(summary),
        device_(use_device == DeviceType::kCpu ? "None" : std::string(DeviceName(use_device))) {
    AddNames();
    AddTimes();
    if (source.profile_memory) AddMemory(use_device);
    AddRest();
  }

  std::string Print(const std::vector<size_t>& rows) {
    AddLine([](const Column& column) { return column.header; });
    for (const size_t index : rows) AddRow(index);
    // A header or a figure that is longer than usual widens its column instead of pushing what is right of it aside.
    for (size_t i = 0; i < cells_.size(); ++i) {
      size_t& width = columns_[i % columns_.size()].width;
      width = std::max(width, TextWidth(cells_[i]));
    }
    std::string rule;
    size_t length = 0;
    for (const Column& column : columns_) {
      absl::StrAppend(&rule, std::string(column.width, '-'), kBetween);
      length += column.width + 2;
    }
    const std::string frame(length - 2, '=');
    if (!options_.header.empty()) absl::StrAppend(&out_, frame, "\n", options_.header, "\n");
    if (options_.top_level_events_only) {
      absl::StrAppend(&out_, frame, "\nThis report only display top-level ops statistics\n");
    }
    absl::StrAppend(&out_, rule, "\n");
    for (size_t i = 0; i < cells_.size(); ++i) {
      const Column& column = columns_[i % columns_.size()];
      absl::StrAppend(&out_, Pad(cells_[i], column.width, column.left_aligned), kBetween);
      if ((i + 1) % columns_.size() == 0) absl::StrAppend(&out_, "\n");
      if (i + 1 == columns_.size()) absl::StrAppend(&out_, rule, "\n");
    }
    absl::StrAppend(&out_, rule, "\nSelf CPU time total: ", Time(summary_.sums.cpu_ns), "\n");
    if (summary_.any_device_time) {
      absl::StrAppend(&out_, "Self ", device_, " time total: ", Time(summary_.sums.device_ns), "\n");
    }
    return std::move(out_);
  }

 private:
  using Row_ = const FunctionEventAvg&;

  std::string Time(int64_t ns) const { return TimeIn(options_.time_unit, static_cast<double>(ns) / 1000.0); }

  void Add(std::string header, std::function<std::string(Row_)> text, size_t width = kColumnWidth) {
    columns_.push_back({std::move(header), width, [text = std::move(text)](Row_ row, size_t) { return text(row); }});
  }

  void AddNames() {
    const size_t width = ColumnWidth(summary_.name_width, options_.max_name_column_width);
    Add("Name", [this](Row_ row) { return NameText(row.key, options_.max_name_column_width); }, width);
    if (!summary_.any_overload) return;
    Add("Overload Name", [this](Row_ row) { return NameText(row.overload_name, options_.max_name_column_width); },
        width);
  }

  void AddTimes() {
    const SelfTimes& sums = summary_.sums;
    Add("Self CPU %", [&sums](Row_ row) { return ShareText(row.self_cpu_time_total_ns, sums.cpu_ns); });
    Add("Self CPU", [this](Row_ row) { return Time(row.self_cpu_time_total_ns); });
    Add("CPU total %", [&sums](Row_ row) {
      return row.is_async ? std::string("0") : ShareText(row.cpu_time_total_ns, sums.cpu_ns);
    });
    Add("CPU total", [this](Row_ row) { return Time(row.cpu_time_total_ns); });
    Add("CPU time avg", [this](Row_ row) { return TimeIn(options_.time_unit, row.cpu_time()); });
    if (!summary_.any_device_time) return;
    Add("Self " + device_, [this](Row_ row) { return Time(row.self_device_time_total_ns); });
    Add("Self " + device_ + " %",
        [&sums](Row_ row) { return ShareText(row.self_device_time_total_ns, sums.device_ns); });
    Add(device_ + " total", [this](Row_ row) { return Time(row.device_time_total_ns); });
    Add(device_ + " time avg", [this](Row_ row) { return TimeIn(options_.time_unit, row.device_time()); });
  }

  void AddMemory(DeviceType use_device) {
    Add("CPU Mem", [](Row_ row) { return MemoryText(row.cpu_memory_usage); });
    Add("Self CPU Mem", [](Row_ row) { return MemoryText(row.self_cpu_memory_usage); });
    if (use_device == DeviceType::kCpu || !summary_.any_device_memory) return;
    Add(device_ + " Mem", [](Row_ row) { return MemoryText(row.device_memory_usage); });
    Add("Self " + device_ + " Mem", [](Row_ row) { return MemoryText(row.self_device_memory_usage); });
  }

  void AddRest() {
    Add("# of Calls", [](Row_ row) { return absl::StrCat(row.count); });
    for (const ExtraColumn& extra : source_.extra) {
      columns_.push_back({extra.header, kColumnWidth, [&extra](Row_, size_t index) { return extra.text(index); }});
    }
    if (summary_.any_node) Add("Node ID", [](Row_ row) { return absl::StrCat(row.node_id); });
    if (summary_.any_shapes) {
      const size_t width = ColumnWidth(summary_.shapes_width, options_.max_shapes_column_width);
      Add("Input Shapes", [width](Row_ row) { return CutRight(ShapesText(row.input_shapes), width); }, width);
    }
    if (summary_.any_stack) {
      const size_t width = ColumnWidth(summary_.frame_width, options_.max_src_column_width);
      Add("Source Location", [width](Row_ row) { return row.stack.empty() ? "" : FrameText(row.stack[0], width); },
          width);
      columns_.back().left_aligned = true;
      columns_.back().is_stack = true;
      stack_width_ = width;
    }
    if (source_.with_flops && summary_.least_flops > 0) {
      const FlopsScale scale = ScaleFor(summary_.least_flops);
      Add(absl::StrCat("Total ", scale.unit), [scale](Row_ row) {
        return row.flops <= 0 ? "--" : absl::StrFormat("%8.3f", static_cast<double>(row.flops) / scale.divisor);
      });
    }
  }

  static std::string FrameText(const std::string& frame, size_t width) { return CutLeft(OneLine(frame), width); }

  template <typename Text>
  void AddLine(Text text) {
    for (const Column& column : columns_) cells_.push_back(text(column));
  }

  // A row, the further frames of its stack under the first, and after a stack an empty line.
  void AddRow(size_t index) {
    const FunctionEventAvg& row = source_.row(index);
    AddLine([&](const Column& column) { return column.text(row, index); });
    if (!summary_.any_stack) return;
    for (size_t i = 1; i <= std::max<size_t>(row.stack.size(), 1); ++i) {
      AddLine([&](const Column& column) {
        return column.is_stack && i < row.stack.size() ? FrameText(row.stack[i], stack_width_) : std::string();
      });
    }
  }

  const TableSource& source_;
  const TableOptions& options_;
  const Summary& summary_;
  const std::string device_;
  std::vector<Column> columns_;
  std::vector<std::string> cells_;  // line by line, the headers first
  size_t stack_width_ = 0;
  std::string out_;
};

std::string Fail(const std::string& what, std::string* error) {
  if (error != nullptr) *error = what;
  return "";
}

}  // namespace

std::string PrintTable(const TableSource& source, const TableOptions& options, std::string* error) {
  if (error != nullptr) error->clear();
  SortKey sort_key = nullptr;
  if (!options.sort_by.empty()) {
    sort_key = FindSortKey(options.sort_by);
    if (sort_key == nullptr) {
      return Fail(absl::StrCat("sort_by=", options.sort_by, ": must be one of ", SortKeyNames()), error);
    }
  }
  const std::string& unit = options.time_unit;
  if (!unit.empty() && unit != "s" && unit != "ms" && unit != "us") {
    return Fail(absl::StrCat("time_unit=", unit, ": must be one of s, ms, us"), error);
  }
  if (source.count == 0) return "";

  Summary summary;
  std::vector<double> keys;
  const DeviceType use_device = source.row(0).use_device;
  for (size_t i = 0; i < source.count; ++i) {
    const FunctionEventAvg& row = source.row(i);
    summary.Add(row);
    if (sort_key != nullptr) keys.push_back(sort_key(row));
  }
  if (use_device == DeviceType::kCpu && summary.any_device_time) {
    return Fail("there are device times, but the first row does not say of which device (use_device)", error);
  }

  std::vector<size_t> order(source.count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (sort_key != nullptr) {
    std::stable_sort(order.begin(), order.end(), [&keys](size_t a, size_t b) { return keys[a] > keys[b]; });
  }
  const size_t limit = options.row_limit < 0 ? source.count : static_cast<size_t>(options.row_limit);
  std::vector<size_t> rows;
  for (size_t i = 0; i < order.size() && rows.size() < limit; ++i) {
    if (options.top_level_events_only && source.row(order[i]).cpu_parent != nullptr) continue;
    rows.push_back(order[i]);
  }
  return Printer(source, options, summary, use_device).Print(rows);
}

}  // namespace ferret
