// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_collector.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/trace_reader/activity_kind.h"
#include "runtime/trace_reader/arg_details.h"

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

constexpr std::string_view kStep = "ProfilerStep#";

template <typename T>
T Narrow(std::optional<int64_t> value, T otherwise) {
  if (!value.has_value() || *value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
    return otherwise;
  }
  return static_cast<T>(*value);
}

std::optional<int64_t> Integer(std::string_view text) {
  JsonValue value;
  value.kind = JsonValue::Kind::kNumber;
  value.text = text;
  return value.AsInt();
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

// Where the overload begins in "aten::add.Tensor", as operators are called when overloads were recorded; else the size.
size_t OverloadAt(std::string_view name) {
  const size_t scope = name.find("::");
  const size_t point = name.find('.');
  if (scope == name.npos || point == name.npos || !IsWord(name.substr(0, scope)) ||
      point < scope + 2 || !IsWord(name.substr(scope + 2, point - scope - 2)) || !IsWord(name.substr(point + 1))) {
    return name.size();
  }
  return point;
}

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

std::string_view TraceCollector::Name(std::string_view name) { return *trace_.names.emplace(name).first; }

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
  if (key == "with_flops") trace_.with_flops = IsOn(value);
  if (key.substr(0, 7) == "ferret_") trace_.is_ferrets = true;
}

absl::Status TraceCollector::OnEvent(const TraceEvent& event) {
  switch (event.phase) {
    case 'X': return OnSlice(event);
    case 'i':
    case 'I': return event.name == "[memory]" || event.name == "[OutOfMemory]" ? OnMemory(event) : absl::OkStatus();
    case 'b': return OnAsyncBegin(event);
    case 'e': return OnAsyncEnd(event);
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

absl::Status TraceCollector::Collect(const TraceEvent& event, int64_t start_ns, int64_t duration_ns,
                                     RawEvent* raw) {
  if (!InRange(start_ns)) {
    return absl::InvalidArgumentError(kOutOfRange);
  }
  if (!Count(duration_ns)) {
    return absl::InvalidArgumentError(kTooLong);
  }
  const ActivityKind kind = KindOfCategory(event.category);
  FunctionEvent& made = raw->event;
  const size_t overload_at = kind.type == ActivityType::kCpuOp ? OverloadAt(event.name) : event.name.size();
  if (event.name.substr(0, kStep.size()) == kStep) {
    made.name = "ProfilerStep*";
    raw->trace_name = Name(event.name);
  } else {
    made.name = Name(event.name.substr(0, overload_at));
  }
  made.start_ns = start_ns;
  made.end_ns = start_ns + duration_ns;
  made.activity_type = kind.type;
  if (const std::optional<int64_t> number = event.IntArg("Sequence number"); number.value_or(-1) >= 0) {
    made.sequence_nr = *number;
    made.fwd_thread = Narrow<uint32_t>(event.IntArg("Fwd thread id"), 0);
  }
  made.is_user_annotation =
      kind.type == ActivityType::kUserAnnotation || kind.type == ActivityType::kGpuUserAnnotation;
  made.is_python_function = kind.type == ActivityType::kPythonFunction;
  const JsonValue* const finished = event.Arg("finished");
  made.is_truncated = finished != nullptr && finished->text == "false";  // a text, as Kineto has it
  if (kind.type == ActivityType::kUserAnnotation) made.scope = RecordScope::kUserScope;
  // The engine's wrapper has the number of what it wraps, and is no node itself.
  constexpr std::string_view kWrapper = "autograd::engine::evaluate_function: ";
  const bool is_wrapper = event.name.substr(0, kWrapper.size()) == kWrapper;
  if (kind.type == ActivityType::kCpuOp && !is_wrapper &&
      (made.fwd_thread > 0 || event.name == "torch::autograd::AccumulateGrad")) {
    made.scope = RecordScope::kBackwardFunction;
  }
  if (kind.on_device) {
    made.device_type = DeviceType::kCuda;
    const std::optional<int64_t> device = event.IntArg("device");
    made.device_index = Narrow<int16_t>(device.has_value() ? device : Integer(event.pid), 0);
    const std::optional<int64_t> stream = event.IntArg("stream");
    made.device_resource_id = Narrow<int32_t>(stream.has_value() ? stream : Integer(event.tid), 0);
  } else {
    made.device_resource_id = Narrow<int32_t>(Integer(event.tid), 0);
  }
  raw->row = Row(event);
  std::optional<int64_t> external_id = event.IntArg("External id");
  if (!external_id.has_value()) external_id = event.IntArg("external id");  // before 2022
  raw->external_id = external_id.value_or(0);
  raw->correlation = event.IntArg("correlation").value_or(0);
  raw->python_id = event.IntArg("Python id").value_or(-1);
  raw->python_parent_id = event.IntArg("Python parent id").value_or(-1);
  raw->python_module_id = event.IntArg("Python module id").value_or(-1);
  raw->details = DetailsOfArgs(event, event.name.substr(std::min(overload_at + 1, event.name.size())));
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
  memory.record.os_tid = Narrow<int32_t>(Integer(event.tid), 0);
  memory.record.address = static_cast<uint64_t>(event.IntArg("Addr").value_or(0));
  memory.record.bytes = *bytes;
  memory.record.total_allocated = event.IntArg("Total Allocated").value_or(0);
  memory.record.total_reserved = event.IntArg("Total Reserved").value_or(0);
  memory.record.device_type = DeviceOf(event.IntArg("Device Type"));
  memory.record.device_index = Narrow<int16_t>(event.IntArg("Device Id"), -1);
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
