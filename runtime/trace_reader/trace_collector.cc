// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/trace_reader/activity_kind.h"
#include "runtime/trace_reader/raw_event.h"

namespace ferret {
namespace {

// So that nothing that is added up later can overflow: until 2116 as Unix time, 36 years before the base; sums of 36
// years for durations and of an exabyte for allocations.
constexpr int64_t kMaxTimeNs = int64_t{1} << 62;
constexpr int64_t kMinTimeNs = -(int64_t{1} << 60);
constexpr uint64_t kMaxTotal = uint64_t{1} << 60;

bool InRange(int64_t time_ns) { return time_ns >= kMinTimeNs && time_ns <= kMaxTimeNs; }

constexpr char kOutOfRange[] = "\"ts\" of the event that ends here is beyond the times that can be counted";
constexpr char kTooLong[] = "with the event that ends here durations add up to more than 36 years";

// MKLDNN's and IDEEP's memory is the CPU's, HIP stands for CUDA. Only what is counted is told apart.
DeviceType DeviceOf(std::optional<int64_t> type) {
  constexpr int64_t kCpuLike[] = {0, 2, 5};
  return std::find(std::begin(kCpuLike), std::end(kCpuLike), type.value_or(0)) != std::end(kCpuLike)
             ? DeviceType::kCpu
             : DeviceType::kCuda;
}

// What both halves of a pair have in common.
std::string PairKey(const TraceEvent& event) {
  return absl::StrCat(std::string(event.category), "\n", std::string(event.id), "\n", std::string(event.pid));
}

bool IsOn(const JsonValue& value) { return value.boolean || (value.is_number() && value.text != "0"); }

}  // namespace

bool TraceCollector::Count(int64_t duration_ns) {
  const uint64_t left = kMaxTotal - total_ns_;
  if (static_cast<uint64_t>(duration_ns) > left) return false;
  total_ns_ += static_cast<uint64_t>(duration_ns);
  return true;
}

RowIndex TraceCollector::Row(const TraceEvent& event) {
  // Neighbours in a file are mostly on the same row.
  if (last_row_.size() == event.pid.size() + 1 + event.tid.size() && !rows_.empty() &&
      last_row_.compare(0, event.pid.size(), event.pid) == 0 && last_row_[event.pid.size()] == '\n' &&
      last_row_.compare(event.pid.size() + 1, event.tid.size(), event.tid) == 0) {
    return last_row_index_;
  }
  last_row_.assign(event.pid).append("\n").append(event.tid);
  const auto [row, is_new] = rows_.try_emplace(last_row_, trace_.rows);
  if (is_new) ++trace_.rows;
  return last_row_index_ = row->second;
}

void TraceCollector::OnHeader(std::string_view key, const JsonValue& value) {
  if (key == "baseTimeNanoseconds") trace_.base_ns = value.AsInt().value_or(0);
  if (key == "profile_memory") trace_.profile_memory = IsOn(value);
  if (key == "with_flops") trace_.with_flops |= IsOn(value);
  if (key.substr(0, 7) == "ferret_") trace_.is_ferrets = true;
}

absl::Status TraceCollector::OnEvent(const TraceEvent& event) {
  switch (event.phase) {
    case 'X': return OnSlice(event);
    case 'i':
    case 'I': return event.name == "[memory]" || event.name == "[OutOfMemory]" ? OnMemory(event) : absl::OkStatus();
    case 'b': return OnAsyncBegin(event);
    case 'e': return OnAsyncEnd(event);
    case 'B':
    case 'E': ++trace_.unread; return absl::OkStatus();
    default: return absl::OkStatus();
  }
}

absl::Status TraceCollector::OnSlice(const TraceEvent& event) {
  if (!event.time_ns.has_value() || event.duration_ns.value_or(-1) < 0) {
    ++trace_.incomplete;
    return absl::OkStatus();
  }
  if (event.category == "Trace" && (!trace_.has_span || *event.time_ns < trace_.span_start_ns)) {
    trace_.has_span = true;
    trace_.span_start_ns = *event.time_ns;
  }
  if (KindOfCategory(event.category).left_out || IsHiddenName(event.name)) return absl::OkStatus();
  RawEvent raw;
  absl::Status status = Collect(event, *event.time_ns, *event.duration_ns, &raw);
  if (status.ok()) trace_.events.push_back(std::move(raw));
  return status;
}

absl::Status TraceCollector::Collect(const TraceEvent& event, int64_t start_ns, int64_t duration_ns, RawEvent* raw) {
  if (!InRange(start_ns)) return absl::InvalidArgumentError(kOutOfRange);
  if (!Count(duration_ns)) return absl::InvalidArgumentError(kTooLong);
  *raw = MakeRawEvent(event, &trace_.names);
  raw->event.start_ns = start_ns;
  raw->event.end_ns = start_ns + duration_ns;
  raw->row = Row(event);
  if (event.Arg("Flops") != nullptr) trace_.with_flops = true;
  return absl::OkStatus();
}

absl::Status TraceCollector::OnMemory(const TraceEvent& event) {
  const std::optional<int64_t> bytes = event.IntArg("Bytes");
  if (!event.time_ns.has_value() || !bytes.has_value()) {
    ++trace_.incomplete;
    return absl::OkStatus();
  }
  const uint64_t size = *bytes < 0 ? uint64_t{0} - static_cast<uint64_t>(*bytes) : static_cast<uint64_t>(*bytes);
  if (size > kMaxTotal - total_bytes_) {
    return absl::InvalidArgumentError("with the event that ends here allocations add up to more than an exabyte");
  }
  if (!InRange(*event.time_ns)) {
    return absl::InvalidArgumentError(kOutOfRange);
  }
  total_bytes_ += size;
  RawMemory& memory = trace_.memory.emplace_back();
  memory.row = Row(event);
  memory.record.time_ns = *event.time_ns;
  memory.record.device_resource_id = NarrowTo<int32_t>(IntegerOf(event.tid), 0);
  memory.record.address = static_cast<uint64_t>(event.IntArg("Addr").value_or(0));
  memory.record.bytes = *bytes;
  memory.record.total_allocated = event.IntArg("Total Allocated").value_or(0);
  memory.record.total_reserved = event.IntArg("Total Reserved").value_or(0);
  memory.record.device_type = DeviceOf(event.IntArg("Device Type"));
  memory.record.device_index = NarrowTo<int16_t>(event.IntArg("Device Id"), -1);
  memory.record.out_of_memory = event.name == "[OutOfMemory]";
  return absl::OkStatus();
}

absl::Status TraceCollector::OnAsyncBegin(const TraceEvent& event) {
  if (!event.time_ns.has_value() || event.id.empty()) {
    ++trace_.incomplete;
    return absl::OkStatus();
  }
  RawEvent raw;
  absl::Status status = Collect(event, *event.time_ns, 0, &raw);
  if (!status.ok()) return status;
  raw.event.is_async = true;
  if (!open_.insert_or_assign(PairKey(event), std::move(raw)).second) ++trace_.incomplete;
  return absl::OkStatus();
}

absl::Status TraceCollector::OnAsyncEnd(const TraceEvent& event) {
  const auto begin = open_.find(PairKey(event));
  if (begin == open_.end() || !event.time_ns.has_value() || *event.time_ns < begin->second.event.start_ns) {
    ++trace_.incomplete;
    return absl::OkStatus();
  }
  if (!Count(*event.time_ns - begin->second.event.start_ns)) {
    return absl::InvalidArgumentError(kTooLong);
  }
  begin->second.event.end_ns = *event.time_ns;
  trace_.events.push_back(std::move(begin->second));
  open_.erase(begin);
  return absl::OkStatus();
}

RawTrace TraceCollector::Finish() && {
  trace_.incomplete += open_.size();
  return std::move(trace_);
}

}  // namespace ferret
