// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, for the event path: no locale, no allocation, no terminating zero.
//
// Every function writes at `at` and returns the end of what it wrote. They are static, so that each file calls what was
// compiled, and inlined, for it: of inline functions the linker takes any file's.

#ifndef FERRET_RUNTIME_TEXT_NUMBER_TEXT_H_
#define FERRET_RUNTIME_TEXT_NUMBER_TEXT_H_

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ferret {

inline constexpr size_t kNumberChars = 32;  // the most that any of these writes

namespace number_text_internal {

struct DigitPairs {
  char text[200];
  constexpr DigitPairs() : text() {
    for (int i = 0; i < 100; ++i) {
      text[2 * i] = static_cast<char>('0' + i / 10);
      text[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
  }
};
inline constexpr DigitPairs kPairs;

static inline char* WritePair(char* at, uint32_t below_100) {
  memcpy(at, kPairs.text + 2 * below_100, 2);
  return at + 2;
}

static inline char* Write4(char* at, uint32_t below_10000) {
  return WritePair(WritePair(at, below_10000 / 100), below_10000 % 100);
}

static inline char* Write8(char* at, uint32_t below_1e8) { return Write4(Write4(at, below_1e8 / 10000), below_1e8 % 10000); }

// Without leading zeros.
static inline char* WriteBelow10000(char* at, uint32_t value) {
  if (value >= 100) {
    const uint32_t high = value / 100;
    if (high >= 10) return Write4(at, value);
    *at = static_cast<char>('0' + high);
    return WritePair(at + 1, value % 100);
  }
  if (value >= 10) return WritePair(at, value);
  *at = static_cast<char>('0' + value);
  return at + 1;
}

static inline char* WriteBelow1e8(char* at, uint32_t value) {
  if (value < 10000) return WriteBelow10000(at, value);
  return Write4(WriteBelow10000(at, value / 10000), value % 10000);
}

}  // namespace number_text_internal

static inline char* WriteUnsigned(char* at, uint64_t value) {
  constexpr uint64_t k1e8 = 100000000;
  if (value < k1e8) return number_text_internal::WriteBelow1e8(at, static_cast<uint32_t>(value));
  const uint64_t high = value / k1e8;
  at = high < k1e8 ? number_text_internal::WriteBelow1e8(at, static_cast<uint32_t>(high)) : WriteUnsigned(at, high);
  return number_text_internal::Write8(at, static_cast<uint32_t>(value % k1e8));
}

static inline char* WriteSigned(char* at, int64_t value) {
  if (value >= 0) return WriteUnsigned(at, static_cast<uint64_t>(value));
  *at = '-';
  return WriteUnsigned(at + 1, uint64_t{0} - static_cast<uint64_t>(value));
}

// Nanoseconds as microseconds with exactly three decimals; what is negative becomes 0.000, as Kineto has it.
static inline char* WriteMicros(char* at, int64_t ns) {
  const uint64_t value = ns < 0 ? 0 : static_cast<uint64_t>(ns);
  at = WriteUnsigned(at, value / 1000);
  const uint32_t rest = static_cast<uint32_t>(value % 1000);
  *at++ = '.';
  *at++ = static_cast<char>('0' + rest / 100);
  return number_text_internal::WritePair(at, rest % 100);
}

// The shortest text that reads back as the same double. JSON has no NaN and no infinity: they are quoted.
static inline char* WriteDouble(char* at, double value) {
  if (std::isfinite(value)) return std::to_chars(at, at + kNumberChars, value).ptr;
  const std::string_view text = std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_TEXT_NUMBER_TEXT_H_
