// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/json_text.h"

#include <cstdint>

#include "runtime/text/utf8_text.h"

namespace ferret {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// Stands for itself.
bool IsPlain(uint8_t byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

void AppendEscape(uint8_t byte, std::string* out) {
  switch (byte) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\b': *out += "\\b"; return;
    case '\f': *out += "\\f"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default:
      *out += "\\u00";
      *out += kHexDigits[byte >> 4];
      *out += kHexDigits[byte & 15];
  }
}

}  // namespace

bool AppendJsonText(std::string_view bytes, std::string* out) {
  bool well_formed = true;
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    if (byte == '\\' && i + 1 == bytes.size()) {
      // The same character; but Perfetto (v52) takes the quote after "\\" for an escaped one and refuses the whole trace.
      *out += "\\u005c";
      ++i;
    } else if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f) {
      AppendEscape(byte, out);
      ++i;
    } else if (byte < 0x80) {
      const size_t begin = i;
      while (++i < bytes.size() && IsPlain(static_cast<uint8_t>(bytes[i]))) {
      }
      out->append(bytes.substr(begin, i - begin));
    } else if (const size_t length = Utf8Length(bytes.substr(i))) {
      out->append(bytes.substr(i, length));
      i += length;
    } else {
      *out += kReplacementCharacter;
      well_formed = false;
      ++i;
    }
  }
  return well_formed;
}

std::string QuotedJson(std::string_view bytes) {
  std::string out = "\"";
  AppendJsonText(bytes, &out);
  out += '"';
  return out;
}

std::string HexText(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (char c : bytes) {
    out += kHexDigits[static_cast<uint8_t>(c) >> 4];
    out += kHexDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

}  // namespace ferret
