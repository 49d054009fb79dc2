// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/decimal_time.h"

#include <gtest/gtest.h>

#include <string>

namespace ferret {
namespace {

TEST(DecimalTime, IsExactWhereADoubleIsNot) {
  struct Case {
    const char* micros;
    int64_t ns;
  };
  for (const Case& c : {
           Case{"0", 0},
           Case{"-0.0", 0},
           Case{"1", 1000},
           Case{"12.345", 12345},
           Case{"000012.3", 12300},
           Case{"0.001", 1},
           Case{".5", 500},
           Case{"5.", 5000},
           Case{" 7 ", 7000},
           Case{"-2.5", -2500},
           // Absolute microseconds with nanoseconds need 61 bits, which a double does not have.
           Case{"1712195495505583.123", 1712195495505583123},
           Case{"9223372036854775.807", INT64_MAX},
           Case{"-9223372036854775.807", -INT64_MAX},
           Case{"1.712195495505583123e15", 1712195495505583123},
           Case{"1712195495505583123E-3", 1712195495505583123},
           Case{"1e+3", 1000000},
           Case{"25e-4", 3},
           // Beyond nanoseconds: rounded once.
           Case{"0.0004999999999999999999999", 0},
           Case{"0.0005", 1},
           Case{"-0.0005", -1},
           Case{"1.0014999", 1001},
           Case{"1.0015", 1002},
           Case{"0e999999999999999999999", 0},
           Case{"1e-999999999999999999999", 0},
       }) {
    EXPECT_EQ(NanosecondsOfMicros(c.micros), std::optional<int64_t>(c.ns)) << c.micros;
  }
}

TEST(DecimalTime, RefusesWhatDoesNotFitAndWhatIsNoNumber) {
  for (const char* micros : {"9223372036854775.808", "-9223372036854775.808", "1e16", "1e999999999999999999999",
                             "99999999999999999999", "", " ", "-", ".", "-.", "e5", "1e", "1e+", "1.2.3", "0x10", "1,5",
                             "NaN", "Infinity", "1 2", "--1"}) {
    EXPECT_EQ(NanosecondsOfMicros(micros), std::nullopt) << micros;
  }
}

TEST(DecimalTime, TakesAnyNumberOfDigits) {
  EXPECT_EQ(NanosecondsOfMicros(std::string(100000, '0') + "1." + std::string(100000, '0')), 1000);
  EXPECT_EQ(NanosecondsOfMicros("0." + std::string(100000, '0') + "1e100001"), 1000);
  EXPECT_EQ(NanosecondsOfMicros(std::string(100000, '9')), std::nullopt);
}

}  // namespace
}  // namespace ferret
