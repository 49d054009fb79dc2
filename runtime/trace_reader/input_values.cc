// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/input_values.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace ferret {
namespace {

template <typename T>
std::optional<T> Parse(std::string_view text) {
  T value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "True") return true;
  if (text == "False") return false;
  return std::nullopt;
}

template <typename T, typename ParseOne>
bool ParseAll(const std::vector<std::string_view>& parts, std::vector<T>* list, ParseOne parse) {
  for (const std::string_view part : parts) {
    const std::optional<T> value = parse(part);
    if (!value.has_value()) return false;
    list->push_back(*value);
  }
  return true;
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

const JsonValue* Item(const JsonValue* list, size_t index) {
  return list != nullptr && list->is_array() && index < list->items.size() ? &list->items[index] : nullptr;
}

std::vector<int64_t> Integers(const JsonValue* list) {
  std::vector<int64_t> integers;
  if (list == nullptr) return integers;
  for (const JsonValue& item : list->items) {
    const std::optional<int64_t> value = item.AsInt();
    if (!value.has_value()) return {};
    integers.push_back(*value);
  }
  return integers;
}

bool IsListOfLists(const JsonValue* list) {
  return list != nullptr && !list->items.empty() && list->items.front().is_array();
}

std::vector<Tensor> TensorList(const JsonValue* dims, const JsonValue* strides) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; dims != nullptr && i < dims->items.size(); ++i) {
    tensors.push_back({"", Integers(&dims->items[i]), Integers(Item(strides, i))});
  }
  return tensors;
}

Value InputOf(const JsonValue* type, const JsonValue* dims, const JsonValue* strides, const JsonValue* concrete) {
  const std::string_view dtype = type != nullptr && type->is_string() ? std::string_view(type->text) : "";
  const std::string_view text = concrete != nullptr && concrete->is_string() ? std::string_view(concrete->text) : "";
  if (dtype == "TensorList" || IsListOfLists(dims)) return TensorList(dims, strides);
  if (dtype == "Scalar" || dtype == "ScalarList") return ValueOfText(text);
  const bool has_dims = dims != nullptr && !dims->items.empty();
  if (!dtype.empty() || has_dims) return Tensor{std::string(dtype), Integers(dims), Integers(strides)};
  // Of an argument that has a type and is called neither scalar nor tensor the text is a text.
  if (text.empty()) return std::monostate();
  return type != nullptr ? Value(std::string(text)) : ValueOfText(text);
}

}  // namespace

Value ValueOfText(std::string_view text) {
  if (text.empty()) return std::monostate();
  if (const auto boolean = ParseBool(text)) return *boolean;
  if (const auto whole = Parse<int64_t>(text)) return *whole;
  if (const auto number = Parse<double>(text)) return *number;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    const std::vector<std::string_view> parts = Split(text.substr(1, text.size() - 2));
    if (std::vector<int64_t> list; ParseAll(parts, &list, Parse<int64_t>)) return list;
    if (std::vector<double> list; ParseAll(parts, &list, Parse<double>)) return list;
    if (std::vector<bool> list; ParseAll(parts, &list, ParseBool)) return list;
  }
  return std::string(text);
}

std::vector<Value> InputsOfArgs(const TraceEvent& event) {
  const JsonValue* const types = event.Arg("Input type");
  const JsonValue* dims = event.Arg("Input Dims");
  if (dims == nullptr) dims = event.Arg("Input dims");  // before 2023
  const JsonValue* const strides = event.Arg("Input Strides");
  const JsonValue* const concretes = event.Arg("Concrete Inputs");
  size_t count = 0;
  for (const JsonValue* list : {types, dims, concretes}) {
    if (list != nullptr && list->is_array()) count = std::max(count, list->items.size());
  }
  std::vector<Value> inputs;
  inputs.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    inputs.push_back(InputOf(Item(types, i), Item(dims, i), Item(strides, i), Item(concretes, i)));
  }
  return inputs;
}

}  // namespace ferret
