// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/export_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferret {
namespace {

using testing::HasSubstr;
using testing::Not;

// A spec as one line: "name|target|key=value|...".
std::string Show(const ExporterSpec& spec) {
  std::string text = spec.name + "|" + spec.target;
  for (const auto& parameter : spec.parameters) text += "|" + parameter.first + "=" + parameter.second;
  return text;
}

struct Good {
  const char* text;
  std::vector<std::string> specs;
};

TEST(ExportSpec, ParsesWhatIsWellFormed) {
  const Good cases[] = {
      {"", {}},
      {"  \t", {}},
      {"table", {"table|"}},
      {"table:stderr", {"table|stderr"}},
      {"chrome_trace:trace-%r.json.gz,otlp,table:stderr", {"chrome_trace|trace-%r.json.gz", "otlp|", "table|stderr"}},
      {" a , b:c ", {"a|", "b|c"}},
      {"a,a", {"a|", "a|"}},
      {"otlp:http://127.0.0.1:4318/v1/traces?x=y", {"otlp|http://127.0.0.1:4318/v1/traces|x=y"}},
      {"table?sort=self_cpu&rows=20", {"table||sort=self_cpu|rows=20"}},
      {"table?sort=a:b", {"table||sort=a:b"}},
      {"t:x?a=1?b", {"t|x|a=1?b"}},
      {"t?a=", {"t||a="}},
      {"t?a==", {"t||a=="}},
      {"t?a=%2C%26%25%3d+ä", {"t||a=,&%=+ä"}},
      {"t:%p-%r-%h-%t-%n-%%.json", {"t|%p-%r-%h-%t-%n-%%.json"}},
      {"t:a%2Cb%2cc%3Fd%3fe", {"t|a,b,c?d?e"}},
      {"t:a%20b%252C%2", {"t|a%20b%252C%2"}},
      {"my-2nd_one", {"my-2nd_one|"}},
  };
  for (const Good& good : cases) {
    const auto specs = ParseExporterSpecs(good.text);
    ASSERT_TRUE(specs.ok()) << good.text << ": " << specs.status();
    std::vector<std::string> shown;
    for (const ExporterSpec& spec : *specs) shown.push_back(Show(spec));
    EXPECT_EQ(shown, good.specs) << good.text;
  }
}

struct Bad {
  const char* text;
  const char* names;    // what is wrong
  const char* allowed;  // what would not be
};

TEST(ExportSpec, SaysWhatIsWrongAndWhatIsAllowed) {
  const Bad cases[] = {
      {",", "entry 1 is empty", "%2C"},
      {"a,", "entry 2 is empty", "%2C"},
      {"a,,b", "entry 2 is empty", "%2C"},
      {":x", "entry 1, \":x\": it does not begin with an exporter's name", "name[:target]"},
      {"?a=b", "entry 1, \"\": it does not begin with an exporter's name", "name[:target]"},
      {"ok,Table", "entry 2, \"Table\": it does not begin with an exporter's name", "lower-case"},
      {"chrome trace", "\"chrome trace\": it does not begin with an exporter's name", "lower-case"},
      {"2nd", "\"2nd\": it does not begin with an exporter's name", "a lower-case letter followed by"},
      {"/tmp/x.json", "\"/tmp/x.json\": it does not begin with an exporter's name", "lower-case"},
      {"a:", "nothing after ':'", "default target"},
      {"a:?x=y", "nothing after ':'", "default target"},
      {"a?", "parameter 1 is not of the form key=value", "?key=value&key=value"},
      {"a?x", "parameter 1 is not of the form key=value", "?key=value&key=value"},
      {"a?=x", "parameter 1 is not of the form key=value", "?key=value&key=value"},
      {"a?x=1&", "parameter 2 is not of the form key=value", "?key=value&key=value"},
      {"a?X=1", "the key of parameter 1", "lower-case"},
      {"otlp:http://h?headers=a=1,b=2", "entry 2", "between headers, is %2C"},
      {"otlp?timeout=1,b=2", "entry 2, \"b\": it does not begin with an exporter's name", "between headers, is %2C"},
      {"otlp:http://h?x", "entry 1, \"otlp:http://h\"", ""},
      {"a?x=1&x=2", "parameter \"x\" is given twice", ""},
      {"a?x=%", "in parameter \"x\": what follows a '%' is not two hexadecimal digits", "%25"},
      {"a?x=%4", "what follows a '%'", "%25"},
      {"a?x=50%zz", "what follows a '%'", "%25"},
      {"a?x=%00", "what follows a '%'", "other than 00"},
  };
  for (const Bad& bad : cases) {
    const auto specs = ParseExporterSpecs(bad.text);
    ASSERT_FALSE(specs.ok()) << bad.text;
    EXPECT_TRUE(absl::IsInvalidArgument(specs.status())) << bad.text;
    EXPECT_THAT(std::string(specs.status().message()), HasSubstr(bad.names)) << bad.text;
    EXPECT_THAT(std::string(specs.status().message()), HasSubstr(bad.allowed)) << bad.text;
  }
}

// Of all the ways to write credentials wrongly.
TEST(ExportSpec, NoMessageShowsWhatMayBeASecret) {
  for (const char* text :
       {"otlp:http://h?headers=a=1,b=SECRET", "otlp:http://h?headers=a=1,SECRET", "otlp?timeout=1,b=SECRET",
        "otlp:http://h?headers=a=SECRET&headers=b=SECRET", "otlp?headers=SECRET%", "otlp?headers=a%SECRET",
        "otlp?headers=a=1&SECRET", "otlp?headers=a=1&SECRET==", "otlp?SECRET", "otlp?=SECRET", "otlp?Headers=a=SECRET",
        "otlp?headers a=SECRET", "Otlp:http://h?headers=a=SECRET", "Otlp:http://u:SECRET@h", "Otlp:http://u:x=SECRET@h",
        "Otlp:http://u:x?SECRET@h", "Http://u:SECRET@h", "otlp:http://u:SECRET@h?x", "otlp:http://u:SECRET@h?X=1",
        "otlp=SECRET"}) {
    const auto specs = ParseExporterSpecs(text);
    ASSERT_FALSE(specs.ok()) << text;
    EXPECT_THAT(std::string(specs.status().message()), Not(HasSubstr("SECRET"))) << text;
    EXPECT_THAT(std::string(specs.status().message()), HasSubstr("entry ")) << text;
  }
  const auto specs = ParseExporterSpecs("otlp?headers=authorization=abc&secret==");
  ASSERT_TRUE(specs.ok());
  EXPECT_EQ(CheckParameters((*specs)[0], {"headers"}).message(),
            "exporter otlp has no parameter like one that follows headers, in which an '&' is %26; it takes headers");
}

// What follows a line end in FERRET_EXPORT looked like a line of another program.
TEST(ExportSpec, ErrorsAreOneLineWhateverTheTextHolds) {
  const auto bad = ParseExporterSpecs("otlp,Bad\n\x1b[31mname\xc3\xa4");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("Bad\\n\\x1b[31mname\xc3\xa4"), std::string::npos) << bad.status();
  const ExporterSpec spec{"table", "", {{"rows", "3\r\n4"}, {"long", std::string(5000, 'x')}}};
  for (const absl::Status& status : {IntParameter(spec, "rows", 1, 0, 9).status(), SizeParameter(spec, "rows", 1, 1).status(),
                                     SplitParameter(spec, "rows").status()}) {
    EXPECT_NE(status.message().find("rows=3\\r\\n4 is not"), std::string::npos) << status;
  }
  EXPECT_LT(IntParameter(spec, "long", 1, 0, 9).status().message().size(), 400u);
}

TEST(ExportSpec, CheckParametersNamesTheUnknownAndTheKnown) {
  const ExporterSpec spec{"table", "", {{"rows", "3"}, {"colour", "red"}}};
  EXPECT_TRUE(CheckParameters(spec, {"colour", "rows"}).ok());
  EXPECT_EQ(CheckParameters(spec, {"rows", "sort"}).message(),
            "exporter table has no parameter \"colour\"; it takes rows, sort");
  EXPECT_EQ(CheckParameters(spec, {}).message(), "exporter table has no parameter \"rows\"; it takes none");
}

TEST(ExportSpec, IntParameterKeepsToItsRange) {
  const ExporterSpec spec{"table", "", {{"rows", "3"}, {"bad", "3x"}, {"empty", ""}}};
  EXPECT_EQ(*IntParameter(spec, "rows", 7, 0, 10), 3);
  EXPECT_EQ(*IntParameter(spec, "absent", 7, 0, 10), 7);
  EXPECT_EQ(IntParameter(spec, "rows", 7, 4, 10).status().message(),
            "exporter table: rows=3 is not a number from 4 to 10");
  EXPECT_FALSE(IntParameter(spec, "rows", 0, 0, 2).ok());
  EXPECT_FALSE(IntParameter(spec, "bad", 0, 0, 10).ok());
  EXPECT_FALSE(IntParameter(spec, "empty", 0, 0, 10).ok());
}

TEST(ExportSpec, SizeParameterTakesWholeNumbersWithUnitsFromItsLeastOn) {
  const ExporterSpec spec{"otlp", "", {{"a", "3MB"}, {"b", "2KiB"}, {"c", "7"}, {"zero", "0"}, {"bad", "1.5GB"}, {"no", ""},
                                       {"much", "99999999999GiB"}}};
  EXPECT_EQ(*SizeParameter(spec, "a", 1, 3000000), 3000000u);
  EXPECT_EQ(*SizeParameter(spec, "b", 1, 1), 2048u);
  EXPECT_EQ(*SizeParameter(spec, "c", 1, 7), 7u);
  EXPECT_EQ(*SizeParameter(spec, "absent", 5, 100), 5u);
  EXPECT_EQ(SizeParameter(spec, "a", 1, 3000001).status().message(),
            "otlp: a=3MB is not a size from 3000001 bytes on; allowed are whole numbers with kB, MB, GB, KiB, MiB, GiB or "
            "no unit");
  for (const char* key : {"zero", "bad", "no", "much"}) EXPECT_FALSE(SizeParameter(spec, key, 1, 0).ok()) << key;
}

}  // namespace
}  // namespace ferret
