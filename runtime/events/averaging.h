// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The steps that every way of adding events up has in common.

#ifndef FERRET_RUNTIME_EVENTS_AVERAGING_H_
#define FERRET_RUNTIME_EVENTS_AVERAGING_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ferret/function_event_avg.h"

namespace ferret {

// The fields that a row takes over from its first event: those that it is not grouped by stay empty.
void StartRow(const FunctionEvent& event, const AverageOptions& options, FunctionEventAvg* row);

// The innermost `count` frames.
std::vector<std::string> FirstFrames(const FunctionEvent& event, int count);

// Saturates: the numbers may come from a file, and there is no number that says "too large".
inline void AddTo(int64_t* sum, int64_t value) {
  if (__builtin_add_overflow(*sum, value, sum)) *sum = value < 0 ? INT64_MIN : INT64_MAX;
}

inline void SubtractFrom(int64_t* sum, int64_t value) {
  if (__builtin_sub_overflow(*sum, value, sum)) *sum = value < 0 ? INT64_MAX : INT64_MIN;
}

inline void AddSums(const FunctionEvent& event, int64_t device_total_ns, int64_t self_device_ns,
                    FunctionEventAvg* row) {
  ++row->count;
  AddTo(&row->cpu_time_total_ns, event.cpu_time_total_ns());
  AddTo(&row->self_cpu_time_total_ns, event.self_cpu_time_total_ns());
  AddTo(&row->device_time_total_ns, device_total_ns);
  AddTo(&row->self_device_time_total_ns, self_device_ns);
  if (event.details == nullptr) return;
  AddTo(&row->cpu_memory_usage, event.details->cpu_memory_usage);
  AddTo(&row->self_cpu_memory_usage, event.details->self_cpu_memory_usage);
  AddTo(&row->device_memory_usage, event.details->device_memory_usage);
  AddTo(&row->self_device_memory_usage, event.details->self_device_memory_usage);
  AddTo(&row->flops, event.details->flops);
}

// An event as a row of its own, with all its fields.
FunctionEventAvg RowOf(const FunctionEvent& event, int64_t device_total_ns, int64_t self_device_ns);

// What the percentages of a table are shares of, and what it ends with. Device time is counted where it was spent:
// in events on a device, but not again in the annotations around them; or in the operators, where those carry it.
struct SelfTimes {
  int64_t cpu_ns = 0;
  int64_t device_ns = 0;

  void Add(const FunctionEventAvg& row) {
    AddTo(&cpu_ns, row.self_cpu_time_total_ns);
    if (HasDeviceTime(row)) AddTo(&device_ns, row.self_device_time_total_ns);
  }
  void Add(const FunctionEvent& event) {
    AddTo(&cpu_ns, event.self_cpu_time_total_ns());
    if (HasDeviceTime(event)) AddTo(&device_ns, event.self_device_time_total_ns());
  }

 private:
  template <typename Event>
  static bool HasDeviceTime(const Event& event) {
    return event.device_type == DeviceType::kCpu ? event.is_legacy : !event.is_user_annotation;
  }
};

// 0 to 100; NaN of nothing.
inline double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : static_cast<double>(part) * 100.0 / static_cast<double>(whole);
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_AVERAGING_H_
