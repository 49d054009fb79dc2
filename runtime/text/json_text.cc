// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/json_text.h"

#include <cstdint>

namespace ferret {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// The length of the well-formed sequence of two to four bytes at the start of `text`, 0 if there is none (Unicode 15,
// table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t MultiByteLength(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto is_in = [&](size_t i, uint8_t low, uint8_t high) { return byte(i) >= low && byte(i) <= high; };
  const uint8_t lead = byte(0);
  if (lead >= 0xc2 && lead <= 0xdf) return is_in(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : 0xbf;
    return is_in(1, low, high) && is_in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;
    return is_in(1, low, high) && is_in(2, 0x80, 0xbf) && is_in(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

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
      *out += bytes[i++];
    } else if (const size_t length = MultiByteLength(bytes.substr(i))) {
      out->append(bytes.substr(i, length));
      i += length;
    } else {
      *out += kReplacement;
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
