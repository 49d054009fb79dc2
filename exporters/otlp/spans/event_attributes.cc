// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/event_attributes.h"

#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ferret/internal/detail_format.h"
#include "runtime/events/detail_reader.h"
#include "runtime/events/value_text.h"
#include "runtime/export/step_event.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

using ferret::internal::DetailKind;

std::string KeyWith(std::string_view prefix, std::string_view name) {
  std::string key(prefix);
  AppendUtf8(name, &key);
  return key;
}

// None, and tensors, say nothing here.
template <typename Attributes>
void Put(std::string_view key, const Value& value, Attributes* out) {
  if (const auto* flag = std::get_if<bool>(&value)) return out->Bool(key, *flag);
  if (const auto* number = std::get_if<int64_t>(&value)) return out->Int(key, *number);
  if (const auto* real = std::get_if<double>(&value)) return out->Real(key, *real);
  if (const auto* text = std::get_if<std::string>(&value)) return out->Text(key, *text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return out->Texts(key, *texts);
  if (const std::string text = ScalarText(value); !text.empty()) out->Text(key, text);
}

// Pairs of a name and a value, each under the name behind the prefix; of two with one name the first.
template <typename Attributes>
void PutPairs(std::string_view prefix, bool typed, std::string_view payload, Attributes* out) {
  DetailReader reader(payload);
  absl::flat_hash_set<std::string> keys;
  std::string_view name, text;
  while (!reader.done() && reader.ReadText(&name)) {
    Value value;
    if (typed ? !reader.ReadValue(&value) : !reader.ReadText(&text)) return;
    const auto [key, is_new] = keys.insert(KeyWith(prefix, name));
    if (!is_new) continue;
    if (typed) {
      Put(*key, value, out);
    } else {
      out->Text(*key, text);
    }
  }
}

template <typename Attributes>
void PutInputs(const FunctionEvent& event, Attributes* out) {
  out->Text("ferret.input_shapes", DimsText(event.structured_input_shapes()));
  out->Text("ferret.input_strides", DimsText(event.structured_input_strides()));
  out->Texts("ferret.input_types", event.input_dtypes());
  std::vector<std::string> concrete;
  for (const Value& value : event.concrete_inputs()) concrete.push_back(ScalarText(value));
  out->Texts("ferret.concrete_inputs", concrete);
}

// "path.py(12): function" is how Python's frames are written; others are a function's name.
template <typename Attributes>
void PutFrame(std::string_view frame, Attributes* out) {
  const size_t behind = frame.find("): ");
  const size_t open = behind == std::string_view::npos ? behind : frame.rfind('(', behind);
  int64_t line = 0;
  if (open != std::string_view::npos && open > 0 &&
      absl::SimpleAtoi(absl::string_view(frame.data() + open + 1, behind - open - 1), &line) && line > 0) {
    out->Text("code.file.path", frame.substr(0, open));
    out->Int("code.line.number", line);
    frame.remove_prefix(behind + 3);
  }
  if (!frame.empty()) out->Text("code.function.name", frame);
}

template <typename Attributes>
void PutRecorded(DetailKind kind, std::string_view payload, const FunctionEvent& event, Attributes* out) {
  DetailReader reader(payload);
  std::string_view text;
  switch (kind) {
    case DetailKind::kInputs:
      return PutInputs(event, out);
    case DetailKind::kKeywordInputs:
      return PutPairs("ferret.kwinputs.", true, payload, out);
    case DetailKind::kMetadata:
      return PutPairs("ferret.metadata.", true, payload, out);
    case DetailKind::kExtraMeta:
      return PutPairs("ferret.extra_meta.", false, payload, out);
    case DetailKind::kStack: {
      std::string frames;
      std::string_view innermost;
      while (!reader.done() && reader.ReadText(&text)) {
        if (frames.empty()) innermost = text;
        absl::StrAppend(&frames, frames.empty() ? "" : "\n", absl::string_view(text.data(), text.size()));
      }
      if (frames.empty()) return;
      PutFrame(innermost, out);
      return out->Text("code.stacktrace", frames);
    }
    case DetailKind::kOverloadName:
      if (reader.ReadText(&text) && !text.empty()) out->Text("ferret.overload_name", text);
      return;
    case DetailKind::kModuleHierarchy:
      if (reader.ReadText(&text) && !text.empty()) out->Text("ferret.module_hierarchy", text);
      return;
    case DetailKind::kNode: {
      int64_t node = 0;
      uint8_t remote = 0;
      if (!reader.ReadSigned(&node) || !reader.ReadByte(&remote)) return;
      out->Int("ferret.node_id", node);
      return out->Bool("ferret.is_remote", remote != 0);
    }
    case DetailKind::kFlops:
      return;  // in EventDetails::flops
  }
}

template <typename Attributes>
void PutIfAny(std::string_view key, int64_t value, Attributes* out) {
  if (value != 0) out->Int(key, value);
}

}  // namespace

const char* ScopeText(RecordScope scope) {
  switch (scope) {
    case RecordScope::kFunction: return "function";
    case RecordScope::kBackwardFunction: return "backward_function";
    case RecordScope::kTorchScriptFunction: return "torchscript_function";
    case RecordScope::kKernelFunctionDtype: return "kernel_function_dtype";
    case RecordScope::kCustomClass: return "custom_class";
    case RecordScope::kBuildFeature: return "build_feature";
    case RecordScope::kLiteInterpreter: return "lite_interpreter";
    case RecordScope::kUserScope: return "user_scope";
    case RecordScope::kStaticRuntimeOp: return "static_runtime_op";
    case RecordScope::kStaticRuntimeModel: return "static_runtime_model";
  }
  return "unknown";
}

const char* DeviceText(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu: return "cpu";
    case DeviceType::kCuda: return "cuda";
    case DeviceType::kXpu: return "xpu";
    case DeviceType::kHpu: return "hpu";
    case DeviceType::kMtia: return "mtia";
    case DeviceType::kPrivateUse1: return "privateuseone";
  }
  return "unknown";
}

const char* ActivityText(const FunctionEvent& event) {
  if (event.activity_type == ActivityType::kGpuUserAnnotation || event.is_user_annotation) return "gpu_user_annotation";
  if (event.activity_type == ActivityType::kGpuMemcpy) return "gpu_memcpy";
  if (event.activity_type == ActivityType::kGpuMemset) return "gpu_memset";
  return "kernel";
}

template <typename Attributes>
void DescribeDetails(const FunctionEvent& event, Attributes* out) {
  const EventDetails& details = *event.details;
  if (!details.trace_name.empty()) {
    const std::string_view name = details.trace_name;
    int64_t step = 0;
    if (StepNumber(name, &step)) {
      out->Int("ferret.step", step);
    } else if (name != event.name) {
      out->Text("ferret.trace_name", name);
    }
  }
  PutIfAny("ferret.cpu_memory_usage", details.cpu_memory_usage, out);
  PutIfAny("ferret.device_memory_usage", details.device_memory_usage, out);
  PutIfAny("ferret.self_cpu_memory_usage", details.self_cpu_memory_usage, out);
  PutIfAny("ferret.self_device_memory_usage", details.self_device_memory_usage, out);
  PutIfAny("ferret.flops", details.flops, out);
  if (const DeviceLaunch* launch = details.launch) {
    out->Int("ferret.correlation_id", launch->correlation);
    out->Int("ferret.context", launch->context);
    out->Int("ferret.launch.start_unix_nano", launch->start_ns);
    out->Int("ferret.launch.end_unix_nano", launch->end_ns);
    out->Int("ferret.clock_error_ns", launch->clock_error_ns);
  }
  if (details.recorded.empty()) return;
  for (uint8_t kind = 1; kind <= static_cast<uint8_t>(DetailKind::kMetadata); ++kind) {
    std::string_view payload;
    if (!FindDetail(details.recorded, static_cast<DetailKind>(kind), &payload)) continue;
    PutRecorded(static_cast<DetailKind>(kind), payload, event, out);
  }
}

template <typename Attributes>
void DescribeInstant(const InstantEvent& event, Attributes* out) {
  if (event.kind == InstantEvent::Kind::kCounter) out->Real("ferret.value", event.value);
  if (event.kind == InstantEvent::Kind::kLoss) {
    out->Real("ferret.lost", event.value);
    out->Int("ferret.since_unix_nano", event.since_ns);
  }
  if (event.device_resource_id != 0) out->Int("thread.id", event.device_resource_id);
}

template <typename Attributes>
void DescribeMemory(const MemoryEvent& event, uint64_t scope, Attributes* out) {
  out->Int("ferret.memory.bytes", event.bytes);
  if (!event.out_of_memory) out->Int("ferret.memory.address", static_cast<int64_t>(event.address));
  out->Int("ferret.memory.total_allocated", event.total_allocated);
  out->Int("ferret.memory.total_reserved", event.total_reserved);
  out->Text("ferret.device_type", DeviceText(event.device_type));
  if (event.device_index >= 0) out->Int("ferret.device", event.device_index);
  if (scope != 0) out->Text("ferret.memory.span_id", absl::StrFormat("%016x", scope));
  if (event.device_resource_id != 0) out->Int("thread.id", event.device_resource_id);
}

template void DescribeDetails(const FunctionEvent& event, ProtoAttributes* out);
template void DescribeDetails(const FunctionEvent& event, JsonAttributes* out);
template void DescribeInstant(const InstantEvent& event, ProtoAttributes* out);
template void DescribeInstant(const InstantEvent& event, JsonAttributes* out);
template void DescribeMemory(const MemoryEvent& event, uint64_t scope, ProtoAttributes* out);
template void DescribeMemory(const MemoryEvent& event, uint64_t scope, JsonAttributes* out);

}  // namespace ferret::otlp
