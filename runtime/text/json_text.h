// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the inside of a JSON string.
//
// Names come from programs, so they are any bytes at all. Well-formed UTF-8 is kept byte for byte; quotes, backslashes,
// control characters and DEL are escaped; a byte that is not part of well-formed UTF-8 becomes U+FFFD, and the caller
// writes HexText of the name beside it, so that nothing is lost.

#ifndef FERRET_RUNTIME_TEXT_JSON_TEXT_H_
#define FERRET_RUNTIME_TEXT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace ferret {

// Appends `bytes` escaped, without quotes around them. False if there was an ill-formed byte.
bool AppendJsonText(std::string_view bytes, std::string* out);

// `bytes` escaped and quoted.
std::string QuotedJson(std::string_view bytes);

// Two lower-case hex digits a byte.
std::string HexText(std::string_view bytes);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TEXT_JSON_TEXT_H_
