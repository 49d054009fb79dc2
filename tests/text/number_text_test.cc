// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/number_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace ferret {
namespace {

template <typename Writer, typename Value>
std::string Text(Writer writer, Value value) {
  char text[kNumberChars];
  return std::string(text, writer(text, value));
}

TEST(NumberText, IntegersOfEveryLengthAreWrittenAsTheyAre) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (int round = 0; round < 200; ++round) {
      const uint64_t value = bits == 0 ? 0 : random() >> (64 - bits);
      EXPECT_EQ(Text(WriteUnsigned, value), std::to_string(value));
      const int64_t negative = static_cast<int64_t>(value);
      EXPECT_EQ(Text(WriteSigned, negative), std::to_string(negative));
    }
  }
  for (uint64_t power = 1; power < 10000000000000000000u; power *= 10) {
    EXPECT_EQ(Text(WriteUnsigned, power), std::to_string(power));
    EXPECT_EQ(Text(WriteUnsigned, power - 1), std::to_string(power - 1));
  }
  EXPECT_EQ(Text(WriteUnsigned, std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(Text(WriteSigned, std::numeric_limits<int64_t>::min()), "-9223372036854775808");
}

TEST(NumberText, MicrosecondsHaveExactlyThreeDecimals) {
  EXPECT_EQ(Text(WriteMicros, 0), "0.000");
  EXPECT_EQ(Text(WriteMicros, 7), "0.007");
  EXPECT_EQ(Text(WriteMicros, 1050), "1.050");
  EXPECT_EQ(Text(WriteMicros, 7889237999999999), "7889237999999.999");
}

TEST(NumberText, ANegativeTimeIsWrittenAsZero) { EXPECT_EQ(Text(WriteMicros, -1), "0.000"); }

TEST(NumberText, DoublesAreTheShortestTextThatReadsBackAsTheSame) {
  EXPECT_EQ(Text(WriteDouble, 0.1), "0.1");
  EXPECT_EQ(Text(WriteDouble, 3.0), "3");
  EXPECT_EQ(Text(WriteDouble, 1e300), "1e+300");
  for (double value : {1.0 / 3, 2.3e-308, -1.7976931348623157e308, 123456789.123}) {
    EXPECT_EQ(std::stod(Text(WriteDouble, value)), value);
  }
}

TEST(NumberText, NotANumberAndInfinityAreQuoted) {
  EXPECT_EQ(Text(WriteDouble, std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(Text(WriteDouble, std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(Text(WriteDouble, -std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

}  // namespace
}  // namespace ferret
