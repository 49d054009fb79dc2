// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an EventList and its averages sum up to, and their tables.

#include "ferret/event_list.h"
#include "runtime/events/averaging.h"
#include "runtime/events/device_times.h"
#include "runtime/events/event_storage.h"
#include "runtime/events/key_averages.h"
#include "runtime/events/table.h"

namespace ferret {
namespace {

constexpr char kTotal[] = "Total";

}  // namespace

double EventList::self_cpu_time_total() const {
  int64_t sum = 0;
  for (const FunctionEvent* event : order_) AddTo(&sum, event->self_cpu_time_total_ns());
  return static_cast<double>(sum) / 1000.0;
}

namespace {

const SelfTimes& SumOf(const std::vector<FunctionEvent*>& order, std::optional<SelfTimes>* sums) {
  if (!sums->has_value()) {
    sums->emplace();
    for (const FunctionEvent* event : order) (*sums)->Add(*event);
  }
  return **sums;
}

}  // namespace

double EventList::self_cpu_percent(const FunctionEvent& event) const {
  return Percent(event.self_cpu_time_total_ns(), SumOf(order_, &storage_->self_times).cpu_ns);
}
double EventList::total_cpu_percent(const FunctionEvent& event) const {
  return event.is_async ? 0 : Percent(event.cpu_time_total_ns(), SumOf(order_, &storage_->self_times).cpu_ns);
}
double EventList::total_device_percent(const FunctionEvent& event) const {
  return Percent(event.self_device_time_total_ns(), SumOf(order_, &storage_->self_times).device_ns);
}

EventAverages EventList::key_averages(const AverageOptions& options) const {
  KeyAverages averages(options);
  const DeviceTimes times(order_, !storage_->details.empty(), storage_->built);
  for (const FunctionEvent* event : order_) averages.Add(*event, times.Total(*event), times.Self(*event));
  EventAverages all;
  all.rows = averages.TakeRows();
  all.profile_memory = config_.profile_memory;
  all.with_flops = config_.with_flops;
  FillPercentages(&all.rows);
  return all;
}

FunctionEventAvg EventList::total_average() const {
  FunctionEventAvg all;
  const DeviceTimes times(order_, !storage_->details.empty(), storage_->built);
  for (const FunctionEvent* event : order_) {
    if (all.count == 0) StartRow(*event, AverageOptions(), &all);
    AddSums(*event, times.Total(*event), times.Self(*event), &all);
  }
  all.key = kTotal;
  return all;
}

std::string EventList::table(const TableOptions& options, std::string* error) const {
  TableSource source;
  source.count = order_.size();
  source.profile_memory = config_.profile_memory;
  source.with_flops = config_.with_flops;
  const DeviceTimes times(order_, !storage_->details.empty(), storage_->built);
  FunctionEventAvg row;
  source.row = [&](size_t index) -> const FunctionEventAvg& {
    const FunctionEvent& event = *order_[index];
    row = RowOf(event, times.Total(event), times.Self(event));
    return row;
  };
  return PrintTable(source, options, error);
}

double EventAverages::self_cpu_time_total() const {
  int64_t sum = 0;
  for (const FunctionEventAvg& row : rows) AddTo(&sum, row.self_cpu_time_total_ns);
  return static_cast<double>(sum) / 1000.0;
}

FunctionEventAvg EventAverages::total_average() const {
  FunctionEventAvg all;
  for (const FunctionEventAvg& row : rows) all.Add(row);
  all.key = kTotal;
  all.self_cpu_percent = all.total_cpu_percent = all.total_device_percent = -1;
  return all;
}

std::string EventAverages::table(const TableOptions& options, std::string* error) const {
  TableSource source;
  source.count = rows.size();
  source.profile_memory = profile_memory;
  source.with_flops = with_flops;
  source.row = [this](size_t index) -> const FunctionEventAvg& { return rows[index]; };
  return PrintTable(source, options, error);
}

}  // namespace ferret
