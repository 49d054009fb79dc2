// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/replies/one_line.h"

#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

// U+0080 to U+009F, control characters too: 0xC2 0x80 to 0xC2 0x9F.
bool IsC1(std::string_view text, size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

}  // namespace

std::string OneLine(std::string_view text, size_t most) {
  // Each byte is at most three of the result, and at least one unless it is space: what lies far behind is not looked at.
  const size_t looked_at = most * 4 + 64;
  const bool cut = text.size() > looked_at;
  std::string whole;
  AppendUtf8(text.substr(0, looked_at), &whole);

  std::string line;
  bool space = false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto byte = static_cast<unsigned char>(whole[i]);
    const bool c1 = IsC1(whole, i);
    if (byte <= 0x20 || byte == 0x7f || c1) {
      space = true;
      if (c1) ++i;
      continue;
    }
    if (space && !line.empty()) line.push_back(' ');
    space = false;
    line.push_back(whole[i]);
  }
  if (line.size() <= most && !cut) return line;
  if (line.size() > most) {
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // not within a character
    line.resize(end);
  }
  return line + "...";
}

}  // namespace ferret::otlp
