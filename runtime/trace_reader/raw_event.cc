// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/raw_event.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "runtime/trace_reader/activity_kind.h"
#include "runtime/trace_reader/arg_details.h"

namespace ferret {
namespace {

// As text, which Kineto writes, or as JSON has it.
bool IsFalse(const JsonValue& value) {
  return value.is_string() ? value.text == "false" : value.kind == JsonValue::Kind::kBool && !value.boolean;
}

constexpr std::string_view kStep = "ProfilerStep#";

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

// A backward op, rather than the engine's wrapper around it, which has the same number and threads.
bool IsBackwardNode(const FunctionEvent& event, std::string_view name) {
  constexpr std::string_view kWrapper = "autograd::engine::evaluate_function: ";
  if (event.activity_type != ActivityType::kCpuOp || name.substr(0, kWrapper.size()) == kWrapper) return false;
  return event.fwd_thread > 0 || name == "torch::autograd::AccumulateGrad";
}

// Device and stream, or thread.
void Place(const TraceEvent& event, bool on_device, FunctionEvent* made) {
  if (!on_device) {
    made->device_resource_id = NarrowTo<int32_t>(IntegerOf(event.tid), 0);
    return;
  }
  made->device_type = DeviceType::kCuda;
  const std::optional<int64_t> device = event.IntArg("device");
  made->device_index = NarrowTo<int16_t>(device.has_value() ? device : IntegerOf(event.pid), 0);
  std::optional<int64_t> stream = event.IntArg("stream");
  if (!stream.has_value()) stream = event.IntArg("on stream");  // Ferret's annotations, which may be on another track
  made->device_resource_id = NarrowTo<int32_t>(stream.has_value() ? stream : IntegerOf(event.tid), 0);
}

}  // namespace

std::optional<int64_t> IntegerOf(std::string_view text) {
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

RawEvent MakeRawEvent(const TraceEvent& event, std::unordered_set<std::string>* names) {
  const auto keep = [names](std::string_view name) { return std::string_view(*names->emplace(name).first); };
  const ActivityKind kind = KindOfCategory(event.category);
  RawEvent raw;
  FunctionEvent& made = raw.event;
  made.activity_type = kind.type;
  made.is_user_annotation =
      kind.type == ActivityType::kUserAnnotation || kind.type == ActivityType::kGpuUserAnnotation;
  made.is_python_function = kind.type == ActivityType::kPythonFunction;

  const size_t overload_at = kind.type == ActivityType::kCpuOp ? OverloadAt(event.name) : event.name.size();
  std::string_view overload = event.name.substr(std::min(overload_at + 1, event.name.size()));
  if (const JsonValue* named = event.Arg("Overload name"); named != nullptr && named->is_string()) {
    overload = named->text;
  }
  if (event.name.substr(0, kStep.size()) == kStep) {
    made.name = "ProfilerStep*";
    raw.trace_name = keep(event.name);
  } else {
    made.name = keep(event.name.substr(0, overload_at));
  }

  if (const std::optional<int64_t> number = event.IntArg("Sequence number"); number.value_or(-1) >= 0) {
    made.sequence_nr = *number;
    made.fwd_thread = NarrowTo<uint32_t>(event.IntArg("Fwd thread id"), 0);
  }
  const JsonValue* const finished = event.Arg("finished");
  made.is_truncated = finished != nullptr && IsFalse(*finished);
  made.is_legacy = event.IntArg("ferret_legacy") == 1;
  if (kind.type == ActivityType::kUserAnnotation) made.scope = RecordScope::kUserScope;
  if (IsBackwardNode(made, event.name)) made.scope = RecordScope::kBackwardFunction;
  Place(event, kind.on_device, &made);

  std::optional<int64_t> external_id = event.IntArg("External id");
  if (!external_id.has_value()) external_id = event.IntArg("external id");  // before 2022
  raw.external_id = external_id.value_or(0);
  raw.correlation = event.IntArg("correlation").value_or(0);
  raw.python_id = event.IntArg("Python id").value_or(-1);
  raw.python_parent_id = event.IntArg("Python parent id").value_or(-1);
  raw.python_module_id = event.IntArg("Python module id").value_or(-1);
  raw.details = DetailsOfArgs(event, overload);
  return raw;
}

}  // namespace ferret
