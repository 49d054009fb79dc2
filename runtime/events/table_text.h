// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The cells of a table: characters are counted as a reader sees them (UTF-8), and what would break the lines is not
// let through.

#ifndef FERRET_RUNTIME_EVENTS_TABLE_TEXT_H_
#define FERRET_RUNTIME_EVENTS_TABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ferret {

// Code points; a byte that is not part of one counts as one.
size_t TextWidth(std::string_view text);

// Control characters become spaces.
std::string OneLine(std::string_view text);

// The first so many characters.
std::string CutRight(std::string_view text, size_t width);
// The last so many characters, the first three of them replaced by "..." if there are more than three.
std::string CutLeft(std::string_view text, size_t width);

std::string Pad(const std::string& text, size_t width, bool left_aligned);

// "12.50 KB", "-3 B"
std::string MemoryText(int64_t bytes);
// "12.50%", "NaN" of nothing
std::string ShareText(int64_t part, int64_t whole);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TABLE_TEXT_H_
