// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/aggregate.h"

#include <algorithm>
#include <utility>

#include "runtime/events/averaging.h"

namespace ferret::table {
namespace {

// Name ids are small and dense; this bounds the array all the same.
constexpr size_t kMaxPlainSlots = size_t{1} << 20;

Row RowOf(const FunctionEventAvg& average, const Stats& stats) {
  Row row;
  row.average = average;
  AddTo(&row.average.count, stats.count);
  AddTo(&row.average.cpu_time_total_ns, stats.cpu_ns);
  AddTo(&row.average.self_cpu_time_total_ns, stats.self_ns);
  row.max_ns = stats.max_ns;
  row.p50_ns = stats.durations->Percentile(0.50, stats.max_ns);
  row.p95_ns = stats.durations->Percentile(0.95, stats.max_ns);
  row.p99_ns = stats.durations->Percentile(0.99, stats.max_ns);
  row.durations = stats.durations.get();
  return row;
}

void FillShares(std::vector<Row>* rows) {
  std::vector<FunctionEventAvg> averages;
  for (Row& row : *rows) averages.push_back(std::move(row.average));
  FillPercentages(&averages);
  for (size_t i = 0; i < averages.size(); ++i) (*rows)[i].average = std::move(averages[i]);
}

}  // namespace

Aggregate::Aggregate(const AverageOptions& options, size_t max_keys) : averages_(options, max_keys) {}

void Aggregate::AddSlowly(const FunctionEvent& event, size_t plain_slot) {
  if (event.use_device != DeviceType::kCpu) use_device_ = event.use_device;
  const size_t row = averages_.Add(event);
  if (row == KeyAverages::kLeftOut) {
    other_average_.Add(event);
    other_.AddDuration(event.duration_ns());
    return;
  }
  Stats* const stats = StatsOf(row);
  stats->AddDuration(event.duration_ns());
  // Slots 0 and 1 are those of events without a name id: each has a name of its own.
  if (plain_slot < 2 || plain_slot >= kMaxPlainSlots) return;
  if (plain_slot >= plain_.size()) plain_.resize(std::max(plain_slot + 1, plain_.size() * 2));
  plain_[plain_slot] = stats;
}

void Aggregate::AddDeviceTime(const DeviceTimeShare& share) {
  use_device_ = DeviceType::kCuda;
  const size_t row = averages_.AddDeviceTime(share);
  if (row != KeyAverages::kLeftOut) {
    StatsOf(row);
    return;
  }
  AddTo(&other_average_.device_time_total_ns, share.total_ns);
  AddTo(&other_average_.self_device_time_total_ns, share.self_ns);
}

uint64_t Aggregate::events() const {
  uint64_t events = other_events();
  for (const FunctionEventAvg& row : averages_.rows()) events += static_cast<uint64_t>(row.count);
  for (const Stats& stats : stats_) events += static_cast<uint64_t>(stats.count);
  return events;
}

std::vector<Row> Aggregate::Rows() const {
  std::vector<Row> rows;
  for (size_t i = 0; i < stats_.size(); ++i) rows.push_back(RowOf(averages_.rows()[i], stats_[i]));
  const bool others_have_device_time =
      other_average_.device_time_total_ns != 0 || other_average_.self_device_time_total_ns != 0;
  if (other_events() != 0 || others_have_device_time) {
    rows.push_back(RowOf(other_average_, other_));
    FunctionEventAvg& average = rows.back().average;
    average.key = kOtherKey;
    average.overload_name.clear();
    average.input_shapes.clear();
    average.stack.clear();
    average.is_async = false;
  }
  // Timing may have begun after the first events of a row.
  for (Row& row : rows) row.average.use_device = use_device_;
  FillShares(&rows);
  return rows;
}

}  // namespace ferret::table
