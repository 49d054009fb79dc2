// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Microseconds as traces write them, in decimal, as whole nanoseconds.

#ifndef FERRET_RUNTIME_TRACE_READER_DECIMAL_TIME_H_
#define FERRET_RUNTIME_TRACE_READER_DECIMAL_TIME_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ferret {

// Digit by digit: what has at most three decimals is exact, however large; more decimals are rounded once, half away
// from zero. Nothing if the text is not a decimal number (blanks around it are allowed) or does not fit.
std::optional<int64_t> NanosecondsOfMicros(std::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_DECIMAL_TIME_H_
