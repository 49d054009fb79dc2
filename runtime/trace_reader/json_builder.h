// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonBuilder: makes a JsonValue of what RapidJSON's parser reports, within bounds.

#ifndef FERRET_RUNTIME_TRACE_READER_JSON_BUILDER_H_
#define FERRET_RUNTIME_TRACE_READER_JSON_BUILDER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trace_reader/json_value.h"

namespace ferret {

class JsonBuilder {
 public:
  // Of one value that is built: no profiler comes near.
  static constexpr size_t kMaxValues = 1 << 20;

  void Clear() {
    root_ = JsonValue();
    open_.clear();
    values_ = 0;
  }

  // False: too many values.
  bool Add(JsonValue::Kind kind, std::string_view text = {}, bool boolean = false) {
    JsonValue* const value = Place();
    if (value == nullptr) return false;
    value->kind = kind;
    value->text = text;
    value->boolean = boolean;
    if (value->is_array() || value->is_object()) open_.push_back(value);
    return true;
  }
  void Key(std::string_view key) { open_.back()->keys.emplace_back(key); }
  // The innermost array or object is complete. True: it was the outermost one.
  bool Close() {
    open_.pop_back();
    return open_.empty();
  }

  const JsonValue& root() const { return root_; }

 private:
  // An open value does not move: what grows is the innermost one only.
  JsonValue* Place() {
    if (++values_ > kMaxValues) return nullptr;
    if (open_.empty()) return &root_;
    return &open_.back()->items.emplace_back();
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
  size_t values_ = 0;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_JSON_BUILDER_H_
