// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as well-formed UTF-8.
//
// A byte that is not part of well-formed UTF-8 becomes U+FFFD, one for each byte, the same in every output.

#ifndef FERRET_RUNTIME_TEXT_UTF8_TEXT_H_
#define FERRET_RUNTIME_TEXT_UTF8_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ferret {

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// The length of the well-formed sequence of one to four bytes at the start of `text`, 0 if there is none.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// Appends `bytes`. False if there was an ill-formed byte.
bool AppendUtf8(std::string_view bytes, std::string* out);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TEXT_UTF8_TEXT_H_
