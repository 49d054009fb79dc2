// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Text into room that was asked for: each returns the end of what it wrote.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_PUT_TEXT_H_
#define FERRET_EXPORTERS_CHROME_TRACE_PUT_TEXT_H_

#include <cstddef>
#include <cstring>
#include <string_view>

namespace ferret::chrome_trace {

// What a line has at most beside texts whose length varies (names, details): literals and up to a dozen numbers.
inline constexpr size_t kRestChars = 512;

template <size_t kSize>
inline char* Put(char* at, const char (&literal)[kSize]) {
  memcpy(at, literal, kSize - 1);
  return at + kSize - 1;
}

inline char* Put(char* at, std::string_view text) {
  memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_PUT_TEXT_H_
