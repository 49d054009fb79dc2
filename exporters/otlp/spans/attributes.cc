// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/attributes.h"

#include <cmath>

#include "runtime/text/json_text.h"
#include "runtime/text/number_text.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

// The text itself, or its replacement, which then is in *replaced.
std::string_view WellFormed(std::string_view text, std::string* replaced) {
  if (IsUtf8(text)) return text;
  AppendUtf8(text, replaced);
  return *replaced;
}

}  // namespace

void ProtoAttributes::Text(std::string_view key, std::string_view value) {
  if (!Take()) return;
  std::string replaced_key, replaced;
  key = WellFormed(key, &replaced_key);
  value = WellFormed(Cut(value), &replaced);
  out_.End(PutField(Begin(key, FieldBytes(value.size())), Tag(1, kBytes), value));
}

void ProtoAttributes::Texts(std::string_view key, const std::vector<std::string>& values) {
  if (!Take()) return;
  std::string elements;
  for (const std::string& value : values) {
    std::string replaced;
    const std::string_view text = WellFormed(Cut(value), &replaced);
    ByteBuffer element;
    char* at = element.Room(2 * (1 + kMaxVarintBytes) + text.size());
    *at++ = Tag(1, kBytes);
    at = PutVarint(at, FieldBytes(text.size()));
    element.End(PutField(at, Tag(1, kBytes), text));
    elements.append(element.view());
  }
  std::string replaced_key;
  key = WellFormed(key, &replaced_key);
  out_.End(PutField(Begin(key, FieldBytes(elements.size())), Tag(5, kBytes), elements));
}

void ProtoAttributes::Real(std::string_view key, double value) {
  if (!Take()) return;
  char* at = Begin(key, 9);
  *at++ = Tag(4, kFixed64);
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // All NaNs are one, as in JSON.
  if (std::isnan(value)) bits = 0x7ff8000000000000;
  out_.End(PutFixed64(at, bits));
}

void JsonAttributes::Begin(std::string_view key) {
  out_.append("{\"key\":\"");
  AppendJsonText(key, &out_);
  out_.append("\",\"value\":{");
}

void JsonAttributes::Text(std::string_view key, std::string_view value) {
  if (!Take()) return;
  Begin(key);
  out_.append("\"stringValue\":\"");
  AppendJsonText(Cut(value), &out_);
  out_.append("\"}},");
}

void JsonAttributes::Texts(std::string_view key, const std::vector<std::string>& values) {
  if (!Take()) return;
  Begin(key);
  out_.append("\"arrayValue\":{\"values\":[");
  for (size_t i = 0; i < values.size(); ++i) {
    out_.append(i == 0 ? "{\"stringValue\":\"" : ",{\"stringValue\":\"");
    AppendJsonText(Cut(values[i]), &out_);
    out_.append("\"}");
  }
  out_.append("]}}},");
}

void JsonAttributes::Int(std::string_view key, int64_t value) {
  if (!Take()) return;
  Begin(key);
  char digits[kNumberChars];
  out_.append("\"intValue\":\"").append(digits, static_cast<size_t>(WriteSigned(digits, value) - digits));
  out_.append("\"}},");
}

void JsonAttributes::Bool(std::string_view key, bool value) {
  if (!Take()) return;
  Begin(key);
  out_.append(value ? "\"boolValue\":true}}," : "\"boolValue\":false}},");
}

void JsonAttributes::Real(std::string_view key, double value) {
  if (!Take()) return;
  Begin(key);
  char digits[kNumberChars];
  out_.append("\"doubleValue\":").append(digits, static_cast<size_t>(WriteDouble(digits, value) - digits));
  // "-0" is an integer to some parsers, and then no longer negative.
  if (value == 0 && std::signbit(value)) out_.append(".0");
  out_.append("}},");
}

}  // namespace ferret::otlp
