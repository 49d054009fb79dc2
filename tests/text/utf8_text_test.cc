// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/utf8_text.h"

#include <gtest/gtest.h>

#include <string>

namespace ferret {
namespace {

std::string Well(std::string_view bytes) {
  std::string out;
  const bool well_formed = AppendUtf8(bytes, &out);
  EXPECT_EQ(well_formed, out == bytes);
  EXPECT_EQ(well_formed, IsUtf8(bytes));
  EXPECT_TRUE(IsUtf8(out));
  return out;
}

TEST(Utf8Text, WellFormedTextIsKeptByteForByte) {
  for (const std::string& text :
       {std::string(), std::string("plain"), std::string("a\0b", 3), std::string("\xc3\xa9"),
        std::string("\xe2\x82\xac"), std::string("\xf0\x9f\x90\xbe"), std::string("\xf4\x8f\xbf\xbf")}) {
    EXPECT_EQ(Well(text), text);
  }
}

TEST(Utf8Text, EveryIllFormedByteBecomesOneReplacementCharacter) {
  const std::string replaced(kReplacementCharacter);
  EXPECT_EQ(Well("a\xff"), "a" + replaced);
  EXPECT_EQ(Well("\xc3"), replaced);                             // cut short
  EXPECT_EQ(Well("\xc0\xaf"), replaced + replaced);              // overlong
  EXPECT_EQ(Well("\xed\xa0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(Well("\xf4\x90\x80\x80"), replaced + replaced + replaced + replaced);
  EXPECT_EQ(Well("\x80z"), replaced + "z");
  // Wherever it stands.
  for (size_t i = 0; i < 20; ++i) {
    std::string text(20, 'x');
    text[i] = '\xff';
    EXPECT_EQ(Well(text), text.substr(0, i) + replaced + text.substr(i + 1));
  }
}

}  // namespace
}  // namespace ferret
