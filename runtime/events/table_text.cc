// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/table_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferret {
namespace {

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// Where the character with this number begins.
size_t OffsetOf(std::string_view text, size_t character) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && character-- == 0) return at;
  }
  return at;
}

}  // namespace

size_t TextWidth(std::string_view text) {
  size_t width = 0;
  for (const char byte : text) width += BeginsCharacter(byte) ? 1 : 0;
  return width;
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& byte : line) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = ' ';
  }
  return line;
}

std::string CutRight(std::string_view text, size_t width) { return std::string(text.substr(0, OffsetOf(text, width))); }

std::string CutLeft(std::string_view text, size_t width) {
  const size_t whole = TextWidth(text);
  if (whole <= width) return std::string(text);
  const std::string_view end = text.substr(OffsetOf(text, whole - width));
  return (width > 3 ? "..." : "") + std::string(width > 3 ? end.substr(OffsetOf(end, 3)) : end);
}

std::string Pad(const std::string& text, size_t width, bool left_aligned) {
  const size_t used = TextWidth(text);
  if (used >= width) return text;
  const std::string space(width - used, ' ');
  return left_aligned ? text + space : space + text;
}

std::string MemoryText(int64_t bytes) {
  constexpr double kKilo = 1024;
  const double value = static_cast<double>(bytes);
  const double size = std::fabs(value);
  if (size >= kKilo * kKilo * kKilo) return absl::StrFormat("%.2f GB", value / (kKilo * kKilo * kKilo));
  if (size >= kKilo * kKilo) return absl::StrFormat("%.2f MB", value / (kKilo * kKilo));
  if (size >= kKilo) return absl::StrFormat("%.2f KB", value / kKilo);
  return absl::StrCat(bytes, " B");
}

std::string ShareText(int64_t part, int64_t whole) {
  if (whole == 0) return "NaN";
  return absl::StrFormat("%.2f%%", static_cast<double>(part) * 100.0 / static_cast<double>(whole));
}

}  // namespace ferret
