// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Adding function events up.

#include "ferret/function_event_avg.h"

#include <algorithm>
#include <climits>

#include "absl/strings/str_cat.h"
#include "runtime/events/averaging.h"
#include "runtime/events/tree_walk.h"
#include "runtime/events/value_text.h"

namespace ferret {
namespace {

constexpr AverageOptions kEverything = {true, INT_MAX, true, true};

}  // namespace

std::vector<std::string> FirstFrames(const FunctionEvent& event, int count) {
  std::vector<std::string> frames = event.stack();
  frames.resize(std::min(frames.size(), static_cast<size_t>(std::max(count, 0))));
  return frames;
}

void StartRow(const FunctionEvent& event, const AverageOptions& options, FunctionEventAvg* row) {
  row->key = event.name;
  row->node_id = event.node_id();
  row->scope = event.scope;
  row->device_type = event.device_type;
  row->use_device = event.use_device;
  row->is_async = event.is_async;
  row->is_remote = event.is_remote();
  row->is_legacy = event.is_legacy;
  row->is_user_annotation = event.is_user_annotation;
  row->cpu_parent = event.cpu_parent;
  // An event that is in no tree may be part of a batch, which does not last.
  if (event.cpu_parent != nullptr || event.last_child != nullptr) row->first_event = &event;
  if (options.group_by_overload_name) row->overload_name = event.overload_name();
  if (options.group_by_input_shapes) row->input_shapes = event.input_shapes();
  if (options.group_by_stack_n > 0) row->stack = FirstFrames(event, options.group_by_stack_n);
}

FunctionEventAvg RowOf(const FunctionEvent& event, int64_t device_total_ns, int64_t self_device_ns) {
  FunctionEventAvg row;
  StartRow(event, kEverything, &row);
  AddSums(event, device_total_ns, self_device_ns, &row);
  return row;
}

void FunctionEventAvg::Add(const FunctionEvent& event) {
  if (count == 0) StartRow(event, kEverything, this);
  AddSums(event, event.device_time_total_ns(), event.self_device_time_total_ns(), this);
}

void FunctionEventAvg::Add(const FunctionEventAvg& other) {
  FunctionEventAvg own;
  const FunctionEventAvg* added = &other;
  if (count == 0) {
    // A row of no events has nothing to say of them, but it may have device time (KeyAverages::AddDeviceTime).
    own = *this;
    *this = other;
    added = &own;
  }
  AddTo(&count, added->count);
  AddTo(&cpu_time_total_ns, added->cpu_time_total_ns);
  AddTo(&self_cpu_time_total_ns, added->self_cpu_time_total_ns);
  AddTo(&device_time_total_ns, added->device_time_total_ns);
  AddTo(&self_device_time_total_ns, added->self_device_time_total_ns);
  AddTo(&cpu_memory_usage, added->cpu_memory_usage);
  AddTo(&self_cpu_memory_usage, added->self_cpu_memory_usage);
  AddTo(&device_memory_usage, added->device_memory_usage);
  AddTo(&self_device_memory_usage, added->self_device_memory_usage);
  AddTo(&flops, added->flops);
}

std::string FunctionEventAvg::cpu_time_str() const { return TimeText(cpu_time()); }
std::string FunctionEventAvg::device_time_str() const { return TimeText(device_time()); }
std::string FunctionEventAvg::cpu_time_total_str() const { return TimeText(cpu_time_total()); }
std::string FunctionEventAvg::device_time_total_str() const { return TimeText(device_time_total()); }
std::string FunctionEventAvg::self_cpu_time_total_str() const { return TimeText(self_cpu_time_total()); }
std::string FunctionEventAvg::self_device_time_total_str() const { return TimeText(self_device_time_total()); }

std::vector<const FunctionEvent*> FunctionEventAvg::cpu_children() const {
  return first_event == nullptr ? std::vector<const FunctionEvent*>() : first_event->cpu_children();
}

std::string FunctionEventAvg::ToString() const {
  return absl::StrCat("<FunctionEventAvg key=", key, " count=", count,
                      " self_cpu_time=", TimeText(self_cpu_time_total()), " cpu_time=", TimeText(cpu_time()),
                      " self_device_time=", TimeText(self_device_time_total()),
                      " device_time=", TimeText(device_time()), " input_shapes=", ShapesText(input_shapes),
                      " cpu_memory_usage=", cpu_memory_usage, " device_memory_usage=", device_memory_usage, ">");
}

}  // namespace ferret
