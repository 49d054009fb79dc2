// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/text/json_text.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/chrome_trace/trace_files.h"

namespace ferret::chrome_trace {
namespace {

std::string Unquote(const std::string& json) {
  const rapidjson::Document document = ParseJson("[" + json + "]");
  if (document.HasParseError()) return "not JSON: " + json;
  return std::string(document[0].GetString(), document[0].GetStringLength());
}

TEST(JsonText, EveryAsciiByteReadsBackAsItself) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'b'};
    EXPECT_EQ(Unquote(QuotedJson(text)), text) << byte;
  }
}

TEST(JsonText, EveryByteAboveAsciiOnItsOwnBecomesAReplacementCharacter) {
  for (int byte = 0x80; byte < 0x100; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'b'};
    std::string escaped;
    EXPECT_FALSE(AppendJsonText(text, &escaped)) << byte;
    EXPECT_EQ(escaped, "a\xef\xbf\xbd" "b") << byte;
  }
}

TEST(JsonText, ControlCharactersAndDelAreEscaped) {
  EXPECT_EQ(QuotedJson(std::string("\0\x01\x1f\x7f\n\t\"\\/", 9)), R"("\u0000\u0001\u001f\u007f\n\t\"\\/")");
}

TEST(JsonText, WellFormedUtf8IsKeptByteForByte) {
  for (const char* text : {"µs", "日本語", "\xf0\x9f\xa6\xa1", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    std::string escaped;
    EXPECT_TRUE(AppendJsonText(text, &escaped)) << text;
    EXPECT_EQ(escaped, text);
  }
}

TEST(JsonText, IllFormedUtf8IsReplacedByteByByte) {
  const std::pair<const char*, int> cases[] = {
      {"\xc0\xaf", 2},          // overlong '/'
      {"\xe0\x80\x80", 3},      // overlong NUL
      {"\xed\xa0\x80", 3},      // a surrogate
      {"\xf4\x90\x80\x80", 4},  // above U+10FFFF
      {"\xe6\x97", 2},          // cut off
      {"\xf0\x9f\xa6", 3},
  };
  for (const auto& [text, count] : cases) {
    std::string expected;
    for (int i = 0; i < count; ++i) expected += "\xef\xbf\xbd";
    std::string escaped;
    EXPECT_FALSE(AppendJsonText(text, &escaped));
    EXPECT_EQ(escaped, expected);
  }
}

TEST(JsonText, RandomBytesAlwaysMakeValidJson) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = static_cast<char>(random());
    std::string escaped;
    const bool well_formed = AppendJsonText(text, &escaped);
    const std::string back = Unquote("\"" + escaped + "\"");
    EXPECT_NE(back.substr(0, 8), "not JSON");
    if (well_formed) {
      EXPECT_EQ(back, text);
    }
  }
}

TEST(JsonText, HexTextHoldsTheExactBytes) {
  EXPECT_EQ(HexText(std::string("\x00\xff" "A", 3)), "00ff41");
}

}  // namespace
}  // namespace ferret::chrome_trace
