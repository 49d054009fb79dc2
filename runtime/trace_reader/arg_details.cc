// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/arg_details.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/events/detail_text.h"
#include "runtime/trace_reader/input_values.h"

namespace ferret {
namespace {

using internal::DetailKind;
using internal::DetailWriter;
using Kind = JsonValue::Kind;

// What has a field of its own, or is not the event's but its file's.
constexpr std::string_view kNotMetadata[] = {
    "External id", "external id",      "Ev Idx",      "Sequence number",  "Fwd thread id",    "finished",
    "Call stack",  "Module Hierarchy", "Python id",   "Python parent id", "Python module id", "Input Dims",
    "Input dims",  "Input Strides",    "Input type",  "Concrete Inputs",  "Overload name",    "Node id",
    "Remote",      "Flops",             "on stream",   "ferret_legacy",
};

// Collective keys, as PyTorch puts them on record_param_comms and on the kernels of NCCL.
constexpr std::string_view kCollective[] = {
    "Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "In split size", "Out split size",
    "Global rank start", "Global rank stride", "Process Group Name", "Process Group Description",
    "Process Group Ranks", "Rank", "Src Rank", "Dst Rank", "Seq", "Is asynchronized op", "Comms Id",
};

template <size_t kSize>
bool Among(const std::string_view (&names)[kSize], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Frames of PyTorch's own that its profiler leaves out of every stack.
bool IsOwnFrame(std::string_view frame) {
  static constexpr std::pair<std::string_view, std::string_view> kOwn[] = {
      {"autograd/__init__", "_make_grads"},      {"autograd/__init__", "backward"},
      {"torch/tensor", "backward"},              {"_internal/common_utils", "prof_callable"},
      {"_internal/common_utils", "prof_func_call"}, {"_internal/common_utils", "prof_meth_call"},
  };
  return std::any_of(std::begin(kOwn), std::end(kOwn), [frame](const auto& own) {
    return frame.find(own.first) != frame.npos && frame.find(own.second) != frame.npos;
  });
}

// Frames are joined by ";", innermost first.
std::vector<std::string> Frames(std::string_view stack) {
  std::vector<std::string> frames;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find(';'), stack.size());
    const std::string_view frame = stack.substr(0, end);
    if (!frame.empty() && !IsOwnFrame(frame)) frames.emplace_back(frame);
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return frames;
}

template <typename T, typename Take>
bool TakeAll(const JsonValue& array, std::vector<T>* list, Take take) {
  list->reserve(array.items.size());
  for (const JsonValue& item : array.items) {
    const auto value = take(item);
    if (!value.has_value()) return false;
    list->push_back(*value);
  }
  return true;
}

std::optional<int64_t> WholeNumber(const JsonValue& json) { return json.is_number() ? json.AsInt() : std::nullopt; }

}  // namespace

Value ValueOfJson(const JsonValue& json) {
  switch (json.kind) {
    case Kind::kNull: return std::monostate();
    case Kind::kBool: return json.boolean;
    case Kind::kString: return json.text;
    case Kind::kNumber:
      if (const std::optional<int64_t> whole = json.AsInt()) return *whole;
      return json.AsDouble().value_or(0);
    case Kind::kArray: {
      if (std::vector<int64_t> list; TakeAll(json, &list, WholeNumber)) return list;
      if (std::vector<double> list; TakeAll(json, &list, [](const JsonValue& item) { return item.AsDouble(); })) {
        return list;
      }
      const auto text = [](const JsonValue& item) {
        return item.is_string() ? std::optional<std::string>(item.text) : std::nullopt;
      };
      if (std::vector<std::string> list; TakeAll(json, &list, text)) return list;
      const auto boolean = [](const JsonValue& item) {
        return item.kind == Kind::kBool ? std::optional<bool>(item.boolean) : std::nullopt;
      };
      if (std::vector<bool> list; TakeAll(json, &list, boolean)) return list;
      break;
    }
    case Kind::kObject: break;
  }
  std::string text;
  json.AppendTo(&text);
  return text;
}

std::string DetailsOfArgs(const TraceEvent& event, std::string_view overload_name) {
  std::string details;
  if (!overload_name.empty()) {
    AppendDetail(DetailKind::kOverloadName, &details, [&](DetailWriter* out) { out->Text(overload_name); });
  }
  if (event.args == nullptr) return details;

  if (const std::vector<Value> inputs = InputsOfArgs(event); !inputs.empty()) {
    AppendDetail(DetailKind::kInputs, &details, [&](DetailWriter* out) {
      for (const Value& input : inputs) WriteValue(input, out);
    });
  }
  if (const JsonValue* const stack = event.Arg("Call stack"); stack != nullptr && stack->is_string()) {
    if (const std::vector<std::string> frames = Frames(stack->text); !frames.empty()) AppendStack(frames, &details);
  }
  if (const JsonValue* const module = event.Arg("Module Hierarchy"); module != nullptr && module->is_string()) {
    AppendDetail(DetailKind::kModuleHierarchy, &details, [&](DetailWriter* out) { out->Text(module->text); });
  }
  if (const std::optional<int64_t> flops = event.IntArg("Flops")) {
    AppendDetail(DetailKind::kFlops, &details, [&](DetailWriter* out) { out->Signed(*flops); });
  }
  if (const std::optional<int64_t> node = event.IntArg("Node id")) {
    const JsonValue* const remote = event.Arg("Remote");
    AppendDetail(DetailKind::kNode, &details, [&](DetailWriter* out) {
      out->Signed(*node);
      out->Byte(remote != nullptr && remote->boolean ? 1 : 0);
    });
  }

  const std::vector<std::string>& keys = event.args->keys;
  const std::vector<JsonValue>& values = event.args->items;
  if (event.Arg("Collective name") != nullptr) {
    AppendDetail(DetailKind::kExtraMeta, &details, [&](DetailWriter* out) {
      for (size_t i = 0; i < keys.size(); ++i) {
        if (!Among(kCollective, keys[i])) continue;
        std::string json;
        if (!values[i].is_string()) values[i].AppendTo(&json);
        out->Text(keys[i]);
        out->Text(values[i].is_string() ? values[i].text : json);
      }
    });
  }
  // A record function id of 0, which is most of them, says nothing.
  const auto is_metadata = [&](size_t i) {
    return !Among(kNotMetadata, keys[i]) && !(keys[i] == "Record function id" && values[i].text == "0");
  };
  bool any = false;
  for (size_t i = 0; i < keys.size() && !any; ++i) any = is_metadata(i);
  if (any) {
    AppendDetail(DetailKind::kMetadata, &details, [&](DetailWriter* out) {
      for (size_t i = 0; i < keys.size(); ++i) {
        if (!is_metadata(i)) continue;
        out->Text(keys[i]);
        WriteValue(ValueOfJson(values[i]), out);
      }
    });
  }
  details.shrink_to_fit();  // room was made for more, and there is one of these for each event
  return details;
}

}  // namespace ferret
