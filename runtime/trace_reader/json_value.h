// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonValue: one JSON value in memory. A trace event is read into one of these, one event at a time.

#ifndef FERRET_RUNTIME_TRACE_READER_JSON_VALUE_H_
#define FERRET_RUNTIME_TRACE_READER_JSON_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ferret {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;              // kString: what it says; kNumber: as it was written
  std::vector<JsonValue> items;  // kArray, kObject
  std::vector<std::string> keys;  // kObject: of the items

  bool is_number() const { return kind == Kind::kNumber; }
  bool is_string() const { return kind == Kind::kString; }
  bool is_array() const { return kind == Kind::kArray; }
  bool is_object() const { return kind == Kind::kObject; }

  // The last member of that name, which is the one that counts; null if there is none or this is no object.
  const JsonValue* Find(std::string_view key) const;
  // A whole number that fits, also one that is written as a string, as early versions of Kineto do.
  std::optional<int64_t> AsInt() const;
  // Any number; beyond the range of double infinity or 0. Also NaN and Infinity.
  std::optional<double> AsDouble() const;
  // As JSON, without blanks.
  void AppendTo(std::string* out) const;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_JSON_VALUE_H_
