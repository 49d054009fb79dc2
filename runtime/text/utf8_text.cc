// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/utf8_text.h"

#include <cstdint>
#include <cstring>

namespace ferret {

// Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto is_in = [&](size_t i, uint8_t low, uint8_t high) { return byte(i) >= low && byte(i) <= high; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
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

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII, eight bytes of which are looked at at once.
    constexpr uint64_t kHighBits = 0x8080808080808080;
    uint64_t word;
    if (text.size() >= sizeof(word)) {
      std::memcpy(&word, text.data(), sizeof(word));
      if ((word & kHighBits) == 0) {
        text.remove_prefix(sizeof(word));
        continue;
      }
    }
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool AppendUtf8(std::string_view bytes, std::string* out) {
  bool well_formed = true;
  while (!bytes.empty()) {
    const size_t length = Utf8Length(bytes);
    if (length == 0) {
      out->append(kReplacementCharacter);
      well_formed = false;
      bytes.remove_prefix(1);
    } else {
      out->append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  return well_formed;
}

}  // namespace ferret
