// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A FunctionEvent from the arguments of PyTorch's constructor.

#include <algorithm>
#include <cmath>
#include <utility>

#include "ferret/event_list.h"
#include "runtime/events/detail_text.h"

namespace ferret {
namespace {

template <typename T>
T At(const std::vector<T>& list, size_t index) {
  return index < list.size() ? list[index] : T();
}

Tensor TensorOf(std::string dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  if (strides.size() != sizes.size()) strides.clear();
  return {std::move(dtype), std::move(sizes), std::move(strides)};
}

std::vector<Value> InputsOf(const FunctionEventFields& fields) {
  const size_t count = std::max({fields.input_shapes.size(), fields.structured_input_shapes.size(),
                                 fields.input_dtypes.size(), fields.concrete_inputs.size()});
  std::vector<Value> inputs;
  for (size_t i = 0; i < count; ++i) {
    const Value concrete = At(fields.concrete_inputs, i);
    const FunctionEvent::Dims shapes = At(fields.structured_input_shapes, i);
    const FunctionEvent::Dims strides = At(fields.structured_input_strides, i);
    const std::string dtype = At(fields.input_dtypes, i);
    if (!std::holds_alternative<std::monostate>(concrete)) {
      inputs.push_back(concrete);
    } else if (shapes.is_list || dtype == "TensorList") {
      std::vector<Tensor> list;
      for (size_t j = 0; j < shapes.dims.size(); ++j) list.push_back(TensorOf("", shapes.dims[j], At(strides.dims, j)));
      inputs.push_back(std::move(list));
    } else {
      std::vector<int64_t> sizes = shapes.dims.empty() ? At(fields.input_shapes, i) : shapes.dims.front();
      if (sizes.empty() && (dtype.empty() || dtype == "Scalar" || dtype == "ScalarList")) {
        inputs.emplace_back();
      } else {
        inputs.push_back(TensorOf(dtype, std::move(sizes), At(strides.dims, 0)));
      }
    }
  }
  return inputs;
}

std::string Recorded(const FunctionEventFields& fields) {
  using internal::DetailKind;
  using internal::DetailWriter;
  std::string recorded;
  if (const std::vector<Value> inputs = InputsOf(fields); !inputs.empty()) {
    AppendDetail(DetailKind::kInputs, &recorded, [&](DetailWriter* out) {
      for (const Value& input : inputs) WriteValue(input, out);
    });
  }
  const auto append_values = [&recorded](DetailKind kind, const std::map<std::string, Value>& values) {
    if (values.empty()) return;
    AppendDetail(kind, &recorded, [&values](DetailWriter* out) {
      for (const auto& [key, value] : values) {
        out->Text(key);
        WriteValue(value, out);
      }
    });
  };
  const auto append_text = [&recorded](DetailKind kind, const std::string& text) {
    if (!text.empty()) AppendDetail(kind, &recorded, [&text](DetailWriter* out) { out->Text(text); });
  };
  append_values(DetailKind::kKeywordInputs, fields.kwinputs);
  append_values(DetailKind::kMetadata, fields.typed_metadata);
  append_text(DetailKind::kOverloadName, fields.overload_name);
  append_text(DetailKind::kModuleHierarchy, fields.module_hierarchy);
  if (!fields.stack.empty()) AppendStack(fields.stack, &recorded);
  if (fields.node_id != -1 || fields.is_remote) {
    AppendDetail(DetailKind::kNode, &recorded, [&fields](DetailWriter* out) {
      out->Signed(fields.node_id);
      out->Byte(fields.is_remote ? 1 : 0);
    });
  }
  if (!fields.extra_meta.empty()) {
    AppendDetail(DetailKind::kExtraMeta, &recorded, [&fields](DetailWriter* out) {
      for (const auto& [key, text] : fields.extra_meta) {
        out->Text(key);
        out->Text(text);
      }
    });
  }
  return recorded;
}

// Of what has no nanoseconds (not a number, beyond centuries) the nearest that has.
int64_t NanosecondsOf(double microseconds) {
  if (std::isnan(microseconds)) return 0;
  return std::llround(std::clamp(microseconds, -4e15, 4e15) * 1000.0);
}

}  // namespace

FunctionEvent& MakeFunctionEvent(EventList& list, const FunctionEventFields& fields) {
  FunctionEvent event;
  event.id = fields.id;
  event.name = fields.name;
  event.start_ns = list.start_ns() + NanosecondsOf(fields.start_us);
  event.end_ns = list.start_ns() + NanosecondsOf(fields.end_us);
  event.sequence_nr = fields.sequence_nr;
  event.thread = fields.thread;
  event.fwd_thread = fields.fwd_thread;
  event.device_resource_id =
      static_cast<int32_t>(fields.device_resource_id == -1 ? int64_t{fields.thread} : fields.device_resource_id);
  event.scope = fields.scope;
  event.device_type = fields.device_type;
  event.device_index = fields.device_index;
  event.is_async = fields.is_async;
  event.is_user_annotation = fields.is_user_annotation;
  event.is_legacy = fields.is_legacy;
  event.is_python_function = fields.is_python_function;
  event.activity_type = fields.activity_type;
  event.use_device = fields.use_device;
  // What it spends in children is subtracted as they are appended.
  if (event.device_type == DeviceType::kCpu && !event.is_async) event.self_ns = event.end_ns - event.start_ns;

  EventDetails details;
  const std::string recorded = Recorded(fields);
  details.recorded = recorded;
  if (fields.trace_name != fields.name) details.trace_name = fields.trace_name;
  details.cpu_memory_usage = fields.cpu_memory_usage;
  details.device_memory_usage = fields.device_memory_usage;
  if (event.device_type == DeviceType::kCpu && !event.is_async) {
    details.self_cpu_memory_usage = fields.cpu_memory_usage;
    details.self_device_memory_usage = fields.device_memory_usage;
  }
  details.flops = fields.flops;
  details.external_id = fields.external_id;
  details.linked_correlation_id = fields.linked_correlation_id;
  details.flow_id = fields.flow_id;
  details.flow_type = fields.flow_type;
  details.flow_start = fields.flow_start;
  details.python_id = fields.python_id;
  details.python_parent_id = fields.python_parent_id;
  details.python_module_id = fields.python_module_id;
  details.metadata_json = fields.metadata_json;
  event.details = &details;
  return list.Add(event);
}

}  // namespace ferret
