// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sizes as options have them: "64M", with K, M and G for powers of 1024. Pure functions.

#ifndef FERRET_RUNTIME_SESSION_SIZE_TEXT_H_
#define FERRET_RUNTIME_SESSION_SIZE_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferret {

// Digits and nothing else: SimpleAtoi alone would take a sign and spaces.
inline bool ParseDigits(absl::string_view text, uint64_t* number) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, number);
}

inline int UnitShift(char unit) {
  switch (absl::ascii_toupper(static_cast<unsigned char>(unit))) {
    case 'K': return 10;
    case 'M': return 20;
    case 'G': return 30;
  }
  return 0;
}

inline bool ParseSizeText(absl::string_view text, uint64_t* bytes) {
  const int shift = text.empty() ? 0 : UnitShift(text.back());
  if (shift != 0) text.remove_suffix(1);
  uint64_t number = 0;
  if (!ParseDigits(text, &number) || number > std::numeric_limits<uint64_t>::max() >> shift) return false;
  *bytes = number << shift;
  return true;
}

inline std::string SizeText(uint64_t bytes) {
  for (char unit : {'G', 'M', 'K'}) {
    const uint64_t rest = bytes & ((uint64_t{1} << UnitShift(unit)) - 1);
    if (bytes != 0 && rest == 0) return absl::StrCat(bytes >> UnitShift(unit), std::string(1, unit));
  }
  return absl::StrCat(bytes);
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_SIZE_TEXT_H_
