// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/decimal_time.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace ferret {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Far beyond any exponent that leaves a number in range.
constexpr int64_t kHugeExponent = 1'000'000'000;
constexpr int64_t kMostDigits = 19;  // of an int64_t

}  // namespace

std::optional<int64_t> NanosecondsOfMicros(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  size_t at = 0;
  const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };

  const bool negative = peek() == '-';
  if (negative || peek() == '+') ++at;
  std::string digits;        // without leading zeros
  int64_t whole_digits = 0;  // how many of them stand before the point; below 0: so many zeros after it
  bool any = false;
  for (; IsDigit(peek()); ++at) {
    any = true;
    if (peek() == '0' && digits.empty()) continue;
    digits.push_back(peek());
    ++whole_digits;
  }
  if (peek() == '.') {
    for (++at; IsDigit(peek()); ++at) {
      any = true;
      if (peek() == '0' && digits.empty()) {
        --whole_digits;
      } else {
        digits.push_back(peek());
      }
    }
  }
  if (!any) return std::nullopt;
  if (peek() == 'e' || peek() == 'E') {
    ++at;
    const bool below = peek() == '-';
    if (below || peek() == '+') ++at;
    if (!IsDigit(peek())) return std::nullopt;
    int64_t exponent = 0;
    for (; IsDigit(peek()); ++at) exponent = std::min(exponent * 10 + (peek() - '0'), kHugeExponent);
    whole_digits += below ? -exponent : exponent;
  }
  if (at != text.size()) return std::nullopt;
  if (digits.empty()) return 0;

  whole_digits += 3;  // µs to ns
  if (whole_digits < 0) return 0;
  if (whole_digits > kMostDigits) return std::nullopt;
  const auto digit = [&](int64_t i) {
    return static_cast<size_t>(i) < digits.size() ? digits[static_cast<size_t>(i)] - '0' : 0;
  };
  uint64_t value = 0;  // 19 nines fit
  for (int64_t i = 0; i < whole_digits; ++i) value = value * 10 + static_cast<uint64_t>(digit(i));
  if (digit(whole_digits) >= 5) ++value;
  if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

}  // namespace ferret
