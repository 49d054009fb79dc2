// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/trace_context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/otlp/variables.h"

namespace ferret::otlp {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";
const std::string kGood = "00-" + kTrace + "-" + kSpan + "-01";

std::optional<RemoteContext> Read(const Variables& variables, std::vector<std::string>* warnings) {
  const GetEnv getenv = Environment(variables);
  return ReadRemoteContext(OtlpVariables(getenv, warnings));
}

TEST(Traceparent, SaysTraceSpanAndFlags) {
  const auto remote = ParseTraceparent(kGood);
  ASSERT_TRUE(remote.has_value());
  EXPECT_EQ(std::string(remote->trace_id.begin(), remote->trace_id.end()),
            "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c");
  EXPECT_EQ(remote->span_id, 0xb7ad6b7169203331u);
  EXPECT_EQ(remote->flags, 1);
  EXPECT_EQ(ParseTraceparent("00-" + kTrace + "-" + kSpan + "-00")->flags, 0);
  EXPECT_EQ(ParseTraceparent("00-" + kTrace + "-" + kSpan + "-fe")->flags, 0xfe);
}

TEST(Traceparent, OfALaterVersionMayHaveMoreBehindADash) {
  EXPECT_TRUE(ParseTraceparent("01-" + kTrace + "-" + kSpan + "-01").has_value());
  EXPECT_TRUE(ParseTraceparent("cc-" + kTrace + "-" + kSpan + "-01-what-the-future-brings").has_value());
  EXPECT_FALSE(ParseTraceparent("cc-" + kTrace + "-" + kSpan + "-01.more").has_value());
  EXPECT_FALSE(ParseTraceparent(kGood + "-more").has_value()) << "version 00 has a length";
}

TEST(Traceparent, OfAnyOtherFormIsNone) {
  const std::vector<std::string> bad = {
      "",
      "x",
      kGood.substr(1),
      kGood.substr(0, kGood.size() - 1),
      " " + kGood,
      kGood + " ",
      "ff-" + kTrace + "-" + kSpan + "-01",
      "0-0" + kTrace + "-" + kSpan + "-01",
      "00-" + std::string(32, '0') + "-" + kSpan + "-01",
      "00-" + kTrace + "-" + std::string(16, '0') + "-01",
      "00_" + kTrace + "-" + kSpan + "-01",
      "00-" + kTrace + "_" + kSpan + "-01",
      "00-" + kTrace + "-" + kSpan + "_01",
      "00-0AF7651916CD43DD8448EB211C80319C-" + kSpan + "-01",
      "00-" + kTrace + "-" + kSpan + "-0g",
      "00-" + kTrace + "-" + kSpan + "-0X",
      std::string(55, '-'),
  };
  for (const std::string& text : bad) EXPECT_FALSE(ParseTraceparent(text).has_value()) << text;
}

TEST(Tracestate, IsUpTo32EntriesWithKeysThatDiffer) {
  for (const char* text : {"a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "fw529a3039@dt=FfAIz", "a=1, b=2 ,,c=x y",
                           "ot=th:fd70a4;rv:0", "1a-_*/=!~"}) {
    EXPECT_TRUE(IsTracestate(text)) << text;
  }
  for (const char* text : {"", ",", "a", "a=", "=1", "A=1", "a=1=2", "a=1,a=2", "a@=1", "@a=1", "a@b@c=1", "a b=1",
                           "a=\x01", "a=\xc3\xa4", "\xc3\xa4=1"}) {
    EXPECT_FALSE(IsTracestate(text)) << text;
  }
  std::string many = "k0=v";
  for (int i = 1; i < 32; ++i) many += ",k" + std::to_string(i) + "=v";
  EXPECT_TRUE(IsTracestate(many));
  EXPECT_FALSE(IsTracestate(many + ",k32=v"));
  EXPECT_TRUE(IsTracestate("a=" + std::string(256, 'v')));
  EXPECT_FALSE(IsTracestate("a=" + std::string(257, 'v')));
}

TEST(RemoteContext, IsReadFromTraceparentAndTracestate) {
  std::vector<std::string> warnings;
  const auto remote = Read({{"TRACEPARENT", kGood}, {"TRACESTATE", "a=1,b=2"}}, &warnings);
  ASSERT_TRUE(remote.has_value());
  EXPECT_EQ(remote->state, "a=1,b=2");
  EXPECT_TRUE(warnings.empty());
}

TEST(RemoteContext, IsNoneWithoutTraceparentWhateverElseIsThere) {
  std::vector<std::string> warnings;
  EXPECT_FALSE(Read({}, &warnings).has_value());
  EXPECT_FALSE(Read({{"TRACEPARENT", ""}, {"TRACESTATE", "a=1"}}, &warnings).has_value());
  EXPECT_FALSE(Read({{"traceparent", kGood}}, &warnings).has_value()) << "names in lower case are not read";
  EXPECT_TRUE(warnings.empty());
}

TEST(RemoteContext, ABadTraceparentMakesBothVoidWithOneWarning) {
  std::vector<std::string> warnings;
  EXPECT_FALSE(Read({{"TRACEPARENT", "00-abc\n"}, {"TRACESTATE", "a"}}, &warnings).has_value());
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "TRACEPARENT=\"00-abc\\n\" is ignored: allowed is 00-TRACE-SPAN-FLAGS with 32, 16 and 2 "
                          "lower-case hex digits and no id of zeros; so is TRACESTATE"});
}

TEST(RemoteContext, ABadTracestateMakesOnlyItselfVoid) {
  std::vector<std::string> warnings;
  const auto remote = Read({{"TRACEPARENT", kGood}, {"TRACESTATE", "a"}}, &warnings);
  ASSERT_TRUE(remote.has_value());
  EXPECT_EQ(remote->state, "");
  EXPECT_EQ(warnings, std::vector<std::string>{"TRACESTATE=\"a\" is ignored: allowed are up to 32 entries key=value with "
                                               "commas between them"});
}

}  // namespace
}  // namespace ferret::otlp
