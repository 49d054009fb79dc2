// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/json_value.h"

#include <charconv>
#include <cstdlib>
#include <system_error>

namespace ferret {
namespace {

void AppendQuoted(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte < 0x20 || byte == 0x7f) {
      out->append("\\u00");
      out->push_back(kHex[byte >> 4]);
      out->push_back(kHex[byte & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = keys.size(); i > 0; --i) {
    if (keys[i - 1] == key) return &items[i - 1];
  }
  return nullptr;
}

std::optional<int64_t> JsonValue::AsInt() const {
  if (!is_number() && !is_string()) return std::nullopt;
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::optional<double> JsonValue::AsDouble() const {
  if (!is_number()) return std::nullopt;
  // strtod gives the limits where from_chars gives none. A number that was parsed ends at the end of its text, and
  // nobody in this process calls setlocale for numbers but a host that has made its choice: then from_chars decides.
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && at == text.data() + text.size()) return value;
  return std::strtod(text.c_str(), nullptr);
}

void JsonValue::AppendTo(std::string* out) const {
  switch (kind) {
    case Kind::kNull: out->append("null"); return;
    case Kind::kBool: out->append(boolean ? "true" : "false"); return;
    case Kind::kNumber: out->append(text); return;
    case Kind::kString: AppendQuoted(text, out); return;
    case Kind::kArray:
    case Kind::kObject: break;
  }
  out->push_back(is_object() ? '{' : '[');
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out->push_back(',');
    if (is_object()) {
      AppendQuoted(keys[i], out);
      out->push_back(':');
    }
    items[i].AppendTo(out);
  }
  out->push_back(is_object() ? '}' : ']');
}

}  // namespace ferret
