// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/key_averages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/events/averaging.h"
#include "runtime/events/value_text.h"

namespace ferret {
namespace {

// The part of the key that events without details have.
uint32_t Flags(DeviceType device_type, bool is_legacy, bool is_user_annotation) {
  return static_cast<uint32_t>(static_cast<uint8_t>(device_type)) << 2 | uint32_t{is_legacy} << 1 |
         uint32_t{is_user_annotation};
}
uint32_t Flags(const FunctionEvent& event) {
  return Flags(event.device_type, event.is_legacy, event.is_user_annotation);
}

}  // namespace

KeyAverages::KeyAverages(const AverageOptions& options, size_t max_rows)
    : options_(options), max_rows_(max_rows), recent_(kRecent) {}

size_t KeyAverages::Add(const FunctionEvent& event) {
  return Add(event, event.device_time_total_ns(), event.self_device_time_total_ns());
}

size_t KeyAverages::Add(const FunctionEvent& event, int64_t device_total_ns, int64_t self_device_ns) {
  if (event.is_python_function && !options_.include_python_functions) return kLeftOut;
  const size_t row = RowOf(event);
  if (row == kLeftOut) return row;
  // What made the row may have been a share, which says less of an event than the event itself.
  if (__builtin_expect(rows_[row].count == 0, 0)) StartRow(event, options_, &rows_[row]);
  AddSums(event, device_total_ns, self_device_ns, &rows_[row]);
  return row;
}

size_t KeyAverages::AddDeviceTime(const DeviceTimeShare& share) {
  EventDetails details;
  details.recorded = share.recorded;
  FunctionEvent event;
  event.name = share.name;
  event.name_id = share.name_id;
  event.is_user_annotation = share.is_user_annotation;
  event.is_legacy = share.is_legacy;
  event.use_device = DeviceType::kCuda;
  event.details = share.recorded.empty() ? nullptr : &details;
  const size_t row = RowOf(event);
  if (row == kLeftOut) return row;
  AddTo(&rows_[row].device_time_total_ns, share.total_ns);
  AddTo(&rows_[row].self_device_time_total_ns, share.self_ns);
  return row;
}

size_t KeyAverages::RowOf(const FunctionEvent& event) {
  return event.details == nullptr || event.details->recorded.empty() ? RowOfPlain(event) : FindOrMake(event);
}

size_t KeyAverages::RowOfPlain(const FunctionEvent& event) {
  const uint32_t flags = Flags(event);
  const uint64_t hash = (reinterpret_cast<uintptr_t>(event.name.data()) ^ flags) * 0x9e3779b97f4a7c15u;
  Recent& recent = recent_[hash >> 52];
  static_assert(kRecent == 1u << (64 - 52));
  if (recent.name == event.name.data() && recent.row != kLeftOut) {
    const FunctionEventAvg& row = rows_[recent.row];
    if (row.key == event.name && Flags(row.device_type, row.is_legacy, row.is_user_annotation) == flags) {
      return recent.row;
    }
  }
  const size_t row = FindOrMake(event);
  recent = {event.name.data(), row};
  return row;
}

size_t KeyAverages::FindOrMake(const FunctionEvent& event) {
  key_.clear();
  AppendGroup(event);
  // Last, so that whatever bytes it has, no two keys run into one another.
  key_.append(event.name);
  const auto found = index_.find(key_);
  if (found != index_.end()) return found->second;
  if (rows_.size() >= max_rows_) return kLeftOut;
  index_.emplace(key_, rows_.size());
  StartRow(event, options_, &rows_.emplace_back());
  return rows_.size() - 1;
}

void KeyAverages::AppendGroup(const FunctionEvent& event) {
  absl::StrAppend(&key_, Flags(event), " ", event.node_id(), " ");
  const auto append = [this](const std::string& text) { absl::StrAppend(&key_, text.size(), ":", text); };
  if (options_.group_by_overload_name) append(event.overload_name());
  if (options_.group_by_input_shapes) append(ShapesText(event.input_shapes()));
  if (options_.group_by_stack_n > 0) {
    const std::vector<std::string> stack = FirstFrames(event, options_.group_by_stack_n);
    absl::StrAppend(&key_, stack.size(), " ");
    for (const std::string& frame : stack) append(frame);
  }
}

std::vector<FunctionEventAvg> KeyAverages::TakeRows() {
  std::vector<FunctionEventAvg> rows = std::move(rows_);
  rows_.clear();
  index_.clear();
  recent_.assign(kRecent, Recent());
  return rows;
}

void FillPercentages(std::vector<FunctionEventAvg>* rows) {
  SelfTimes sums;
  for (const FunctionEventAvg& row : *rows) sums.Add(row);
  for (FunctionEventAvg& row : *rows) {
    row.self_cpu_percent = Percent(row.self_cpu_time_total_ns, sums.cpu_ns);
    row.total_cpu_percent = row.is_async ? 0 : Percent(row.cpu_time_total_ns, sums.cpu_ns);
    row.total_device_percent = Percent(row.self_device_time_total_ns, sums.device_ns);
  }
}

}  // namespace ferret
