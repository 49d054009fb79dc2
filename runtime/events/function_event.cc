// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a FunctionEvent takes from its details, and the times and lists that come from the tree.

#include "ferret/function_event.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/events/detail_reader.h"
#include "runtime/events/tree_walk.h"
#include "runtime/events/value_text.h"

namespace ferret {
namespace {

using internal::DetailKind;

std::string_view Recorded(const FunctionEvent& event) {
  return event.details == nullptr ? std::string_view() : event.details->recorded;
}

bool Find(const FunctionEvent& event, DetailKind kind, std::string_view* payload) {
  return FindDetail(Recorded(event), kind, payload);
}

std::string TextOf(const FunctionEvent& event, DetailKind kind) {
  std::string_view payload;
  std::string_view text;
  if (!Find(event, kind, &payload) || !DetailReader(payload).ReadText(&text)) return "";
  return std::string(text);
}

std::map<std::string, Value> ValuesOf(const FunctionEvent& event, DetailKind kind) {
  std::map<std::string, Value> values;
  std::string_view payload;
  if (!Find(event, kind, &payload)) return values;
  DetailReader reader(payload);
  while (!reader.done()) {
    std::string_view key;
    Value value;
    if (!reader.ReadText(&key) || !reader.ReadValue(&value)) break;
    values[std::string(key)] = std::move(value);
  }
  return values;
}

struct DtypeOf {
  std::string operator()(const Tensor& tensor) const { return tensor.dtype; }
  std::string operator()(const std::vector<Tensor>&) const { return "TensorList"; }
  template <typename T>
  std::string operator()(const std::vector<T>&) const {
    return std::is_same_v<T, std::string> ? "" : "ScalarList";
  }
  template <typename T>
  std::string operator()(const T&) const {
    return std::is_arithmetic_v<T> ? "Scalar" : "";
  }
};

// One entry for each input: what `member` of its tensors is.
std::vector<FunctionEvent::Dims> DimsOf(const FunctionEvent& event, std::vector<int64_t> Tensor::*member) {
  std::vector<FunctionEvent::Dims> all;
  for (const Value& input : event.inputs()) {
    FunctionEvent::Dims& dims = all.emplace_back();
    if (const Tensor* tensor = std::get_if<Tensor>(&input)) dims.dims.push_back(tensor->*member);
    if (const auto* list = std::get_if<std::vector<Tensor>>(&input)) {
      dims.is_list = true;
      for (const Tensor& tensor : *list) dims.dims.push_back(tensor.*member);
    }
  }
  return all;
}

}  // namespace

std::vector<Value> FunctionEvent::inputs() const { return ReadInputs(Recorded(*this)); }

std::vector<std::vector<int64_t>> FunctionEvent::input_shapes() const {
  std::vector<std::vector<int64_t>> shapes;
  for (Value& input : inputs()) {
    Tensor* tensor = std::get_if<Tensor>(&input);
    shapes.push_back(tensor == nullptr ? std::vector<int64_t>() : std::move(tensor->sizes));
  }
  return shapes;
}

std::vector<FunctionEvent::Dims> FunctionEvent::structured_input_shapes() const {
  return DimsOf(*this, &Tensor::sizes);
}
std::vector<FunctionEvent::Dims> FunctionEvent::structured_input_strides() const {
  return DimsOf(*this, &Tensor::strides);
}

std::vector<std::string> FunctionEvent::input_dtypes() const {
  std::vector<std::string> dtypes;
  for (const Value& input : inputs()) dtypes.push_back(std::visit(DtypeOf(), input));
  return dtypes;
}

std::vector<Value> FunctionEvent::concrete_inputs() const {
  std::vector<Value> all = inputs();
  for (Value& input : all) {
    if (std::holds_alternative<Tensor>(input) || std::holds_alternative<std::vector<Tensor>>(input)) {
      input = std::monostate();
    }
  }
  return all;
}

std::map<std::string, Value> FunctionEvent::kwinputs() const { return ValuesOf(*this, DetailKind::kKeywordInputs); }
std::string FunctionEvent::overload_name() const { return TextOf(*this, DetailKind::kOverloadName); }
std::string FunctionEvent::module_hierarchy() const { return TextOf(*this, DetailKind::kModuleHierarchy); }

std::vector<std::string> FunctionEvent::stack() const {
  std::vector<std::string> frames;
  std::string_view payload;
  if (!Find(*this, DetailKind::kStack, &payload)) return frames;
  DetailReader reader(payload);
  std::string_view frame;
  while (!reader.done() && reader.ReadText(&frame)) frames.emplace_back(frame);
  return frames;
}

int64_t FunctionEvent::node_id() const {
  std::string_view payload;
  int64_t node = -1;
  if (Find(*this, DetailKind::kNode, &payload) && !DetailReader(payload).ReadSigned(&node)) return -1;
  return node;
}

bool FunctionEvent::is_remote() const {
  std::string_view payload;
  if (!Find(*this, DetailKind::kNode, &payload)) return false;
  DetailReader reader(payload);
  int64_t node = 0;
  uint8_t remote = 0;
  return reader.ReadSigned(&node) && reader.ReadByte(&remote) && remote != 0;
}

std::map<std::string, std::string> FunctionEvent::extra_meta() const {
  std::map<std::string, std::string> meta;
  std::string_view payload;
  if (!Find(*this, DetailKind::kExtraMeta, &payload)) return meta;
  DetailReader reader(payload);
  std::string_view key;
  std::string_view text;
  while (!reader.done() && reader.ReadText(&key) && reader.ReadText(&text)) meta[std::string(key)] = text;
  return meta;
}

std::map<std::string, Value> FunctionEvent::metadata() const {
  std::map<std::string, Value> args;
  const bool on_cpu = device_type == DeviceType::kCpu;
  const bool is_op = activity_type == ActivityType::kCpuOp || activity_type == ActivityType::kUserAnnotation ||
                     activity_type == ActivityType::kNone;
  if (details != nullptr && details->external_id != 0) {
    args["External id"] = details->external_id;
  } else if (on_cpu && is_op) {
    args["External id"] = id;
  }
  if (on_cpu) {
    args["Ev Idx"] = id;
  } else {
    args["device"] = int64_t{device_index};
    args["stream"] = int64_t{device_resource_id};
  }
  if (sequence_nr >= 0) {
    args["Sequence number"] = sequence_nr;
    args["Fwd thread id"] = int64_t{fwd_thread};
  }
  if (is_truncated) args["finished"] = std::string("false");
  if (details == nullptr) return args;
  if (const DeviceLaunch* const launch = details->launch; launch != nullptr) {
    args["External id"] = launch->scope_id;
    args["context"] = launch->context;
    args["correlation"] = launch->correlation;
    args["clock_error_ns"] = launch->clock_error_ns;
  }

  const std::vector<Value> values = inputs();
  if (!values.empty()) {
    std::vector<std::string> concrete;
    for (const Value& value : values) concrete.push_back(ScalarText(value));
    args["Concrete Inputs"] = std::move(concrete);
    args["Input Dims"] = DimsText(structured_input_shapes());
    args["Input Strides"] = DimsText(structured_input_strides());
    args["Input type"] = input_dtypes();
  }
  if (const std::string overload = overload_name(); !overload.empty()) args["Overload name"] = overload;
  if (std::string_view payload; Find(*this, DetailKind::kNode, &payload)) {
    args["Node id"] = node_id();
    args["Remote"] = is_remote();
  }
  if (flops() != 0) args["Flops"] = flops();
  if (const std::string hierarchy = module_hierarchy(); !hierarchy.empty()) args["Module Hierarchy"] = hierarchy;
  if (const std::vector<std::string> frames = stack(); !frames.empty()) args["Call stack"] = absl::StrJoin(frames, ";");
  if (details->python_id >= 0) args["Python id"] = details->python_id;
  if (details->python_parent_id >= 0) args["Python parent id"] = details->python_parent_id;
  if (details->python_module_id >= 0) args["Python module id"] = details->python_module_id;
  for (auto& [key, value] : kwinputs()) args[key] = value;
  for (auto& [key, value] : extra_meta()) args[key] = value;
  for (auto& [key, value] : ValuesOf(*this, DetailKind::kMetadata)) args[key] = value;
  return args;
}

std::string FunctionEvent::cpu_time_str() const { return TimeText(cpu_time()); }
std::string FunctionEvent::device_time_str() const { return TimeText(device_time()); }
std::string FunctionEvent::cpu_time_total_str() const { return TimeText(cpu_time_total()); }
std::string FunctionEvent::device_time_total_str() const { return TimeText(device_time_total()); }
std::string FunctionEvent::self_cpu_time_total_str() const { return TimeText(self_cpu_time_total()); }
std::string FunctionEvent::self_device_time_total_str() const { return TimeText(self_device_time_total()); }

const std::vector<Kernel>& FunctionEvent::kernels() const {
  static const std::vector<Kernel>* const kNoKernels = new std::vector<Kernel>();
  return details == nullptr ? *kNoKernels : details->kernels;
}

std::vector<const FunctionEvent*> FunctionEvent::cpu_children() const {
  std::vector<const FunctionEvent*> children;
  ForEachChild(*this, [&children](const FunctionEvent& child) { children.push_back(&child); });
  return children;
}

int64_t FunctionEvent::device_time_total_ns() const {
  if (is_async || use_device == DeviceType::kCpu) return 0;
  if (device_type != DeviceType::kCpu) return duration_ns();
  int64_t total = 0;
  // Of a child's own use_device nothing is asked: it is the same for all events of a run.
  std::vector<const FunctionEvent*> open = {this};
  while (!open.empty()) {
    const FunctionEvent* event = open.back();
    open.pop_back();
    total += KernelTime(*event);
    if (SpansChildren(*event)) continue;
    ForEachChild(*event, [&open](const FunctionEvent& child) { open.push_back(&child); });
  }
  return total;
}

int64_t FunctionEvent::self_device_time_total_ns() const {
  if (is_async || use_device == DeviceType::kCpu) return 0;
  if (device_type != DeviceType::kCpu) return duration_ns();
  // Total less the children's totals leaves the event's own kernels, but where those are around the children's.
  int64_t self = KernelTime(*this);
  if (SpansChildren(*this)) {
    ForEachChild(*this, [&self](const FunctionEvent& child) { self -= child.device_time_total_ns(); });
  }
  return self;
}

std::string FunctionEvent::ToString() const {
  std::vector<int64_t> children;
  ForEachChild(*this, [&children](const FunctionEvent& child) { children.push_back(child.id); });
  return absl::StrCat("<FunctionEvent id=", id, " name=", std::string(name), " overload_name=", overload_name(),
                      " device_type=", std::string(DeviceName(device_type)), " node_id=", node_id(),
                      " start_ns=", start_ns, " end_ns=", end_ns, " cpu_time=", TimeText(cpu_time()),
                      " device_time=", TimeText(device_time()), " cpu_children=[", absl::StrJoin(children, ", "),
                      "] thread=", thread, " fwd_thread=", fwd_thread, " input_shapes=", ShapesText(input_shapes()),
                      " cpu_memory_usage=", cpu_memory_usage(), " device_memory_usage=", device_memory_usage(),
                      " is_async=", is_async, " is_remote=", is_remote(), " sequence_nr=", sequence_nr,
                      " is_legacy=", is_legacy, ">");
}

}  // namespace ferret
