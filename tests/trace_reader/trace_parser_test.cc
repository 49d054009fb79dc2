// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/trace_reader/json_builder.h"
#include "runtime/trace_reader/json_stream.h"
#include "tests/trace_reader/trace_texts.h"

namespace ferret {
namespace {

constexpr char kOp[] = R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 900, "tid": 917, "ts": 12.345, "dur": 6,
                           "args": {"External id": 7, "Input Dims": [[2, 3], []]}})";

TEST(TraceParser, ReadsAnObjectWithItsHeader) {
  const SeenTrace seen = Parse(std::string(R"({"schemaVersion": 1, "list": [1, {"traceEvents": []}], "host": "a\"b",
      "traceEvents": [)") + kOp + R"(], "baseTimeNanoseconds": 1751410836000000000, "none": null})");
  ASSERT_TRUE(seen.result.ok()) << seen.result.status();
  EXPECT_EQ(seen.result->warning, "");
  ASSERT_EQ(seen.events.size(), 1u);
  EXPECT_EQ(seen.result->events, 1u);
  const SeenEvent& event = seen.events[0];
  EXPECT_EQ(event.phase, 'X');
  EXPECT_EQ(event.category, "cpu_op");
  EXPECT_EQ(event.name, "aten::mm");
  EXPECT_EQ(event.pid, "900");
  EXPECT_EQ(event.tid, "917");
  EXPECT_EQ(event.time_ns, 12345);
  EXPECT_EQ(event.duration_ns, 6000);
  EXPECT_EQ(event.args, R"({"External id":7,"Input Dims":[[2,3],[]]})");
  const std::map<std::string, std::string> headers = {{"baseTimeNanoseconds", "1751410836000000000"},
                                                      {"host", R"("a\"b")"},
                                                      {"none", "null"},
                                                      {"schemaVersion", "1"}};
  EXPECT_EQ(seen.headers, headers);
}

TEST(TraceParser, ReadsABareArrayCompressedOrNot) {
  std::string text = "[";
  for (int i = 0; i < 3000; ++i) text += std::string(i == 0 ? "" : ",\n") + kOp;
  text += "]";
  for (const std::string& stored : {text, Gzip(text), "\xEF\xBB\xBF" + text}) {
    const SeenTrace seen = Parse(stored);
    ASSERT_TRUE(seen.result.ok()) << seen.result.status();
    EXPECT_EQ(seen.result->warning, "");
    EXPECT_EQ(seen.events.size(), 3000u);
  }
}

TEST(TraceParser, ReadsAnArrayThatEndsEarlyAsFarAsItGoesAndWarns) {
  const std::string two = std::string("[") + kOp + "," + kOp;
  for (const std::string& text : {two, two + ",", two + ",\n{\"ph\": \"X\", \"na", two + ", {\"ts\": 1", two + ", {\"ts\": t"}) {
    const SeenTrace seen = Parse(text);
    ASSERT_TRUE(seen.result.ok()) << seen.result.status();
    EXPECT_EQ(seen.events.size(), 2u) << text;
    EXPECT_EQ(seen.result->warning, "t.json: the file ends early; what is there was read");
  }
  std::string compressed = Gzip(two + std::string(100, ' ') + "]");
  compressed.resize(compressed.size() - 8);  // without its checksum
  const SeenTrace seen = Parse(compressed);
  ASSERT_TRUE(seen.result.ok()) << seen.result.status();
  EXPECT_EQ(seen.events.size(), 2u);
}

TEST(TraceParser, ReadsWhatProfilersWriteThoughItIsNotJson) {
  const SeenTrace seen = Parse("[{\"name\": \"a\tb\nc\", \"ts\": NaN, \"dur\": -Infinity, \"args\": {\"bandwidth\": Inf, \"x\": "
                               "N/A, \"y\": \"N/A\", \"z\": [N/A,NaN]}}]");
  ASSERT_TRUE(seen.result.ok()) << seen.result.status();
  ASSERT_EQ(seen.events.size(), 1u);
  EXPECT_EQ(seen.events[0].name, "a b c");
  EXPECT_EQ(seen.events[0].time_ns, std::nullopt);
  EXPECT_EQ(seen.events[0].duration_ns, std::nullopt);
  EXPECT_EQ(seen.events[0].args, R"({"bandwidth":Inf,"x":"","y":"N/A","z":["",NaN]})");
}

// Whatever falls onto the border between two blocks is read as if there were none.
TEST(TraceParser, DoesNotSeeWhereBlocksEnd) {
  const std::string event = "{\"name\":\"\\\"\\\\\xC3\xA9\t\",\"args\":{\"a\":N/A,\"b\":-1.5e-3}}";
  for (size_t shift = 0; shift <= event.size(); ++shift) {
    const std::string start(64 * 1024 - 1 - shift, ' ');
    const SeenTrace seen = Parse("[" + start + event + "]");
    ASSERT_TRUE(seen.result.ok()) << seen.result.status();
    ASSERT_EQ(seen.events.size(), 1u);
    EXPECT_EQ(seen.events[0].name, "\"\\\xC3\xA9 ");
    EXPECT_EQ(seen.events[0].args, R"({"a":"","b":-1.5e-3})");
  }
}

TEST(TraceParser, TakesTheLastOfTwoMembersWithTheSameName) {
  const SeenTrace seen =
      Parse(R"([{"name": "a", "ts": 1, "args": {"x": 1, "x": 2}, "name": "b", "ts": "2", "args": {"x": 3}}])");
  ASSERT_TRUE(seen.result.ok()) << seen.result.status();
  ASSERT_EQ(seen.events.size(), 1u);
  EXPECT_EQ(seen.events[0].name, "b");
  EXPECT_EQ(seen.events[0].time_ns, 2000);
  EXPECT_EQ(seen.events[0].args, R"({"x":3})");
}

TEST(TraceParser, TakesNumbersAndStringsForEachOtherWhereTracesDo) {
  const SeenTrace seen = Parse(R"([{"ph": "X", "pid": "Spans", "tid": -1, "ts": "1.5", "name": 7},
                                   {"ph": "XX", "cat": null, "tid": 1e3, "dur": null, "args": null}, {}])");
  ASSERT_TRUE(seen.result.ok()) << seen.result.status();
  ASSERT_EQ(seen.events.size(), 3u);
  EXPECT_EQ(seen.events[0].pid, "Spans");
  EXPECT_EQ(seen.events[0].tid, "-1");
  EXPECT_EQ(seen.events[0].time_ns, 1500);
  EXPECT_EQ(seen.events[0].name, "7");
  EXPECT_EQ(seen.events[1].phase, '\0');
}

std::string Nested(size_t depth) {
  std::string text = "[{\"args\": {\"a\": ";
  for (size_t i = 0; i < depth; ++i) text += i % 2 == 0 ? "[" : "{\"k\":";
  return text;
}

TEST(TraceParser, RefusesWhatIsWrongAndSaysWhere) {
  struct Case {
    std::string text;
    std::string error;
  };
  for (const Case& c : {
           Case{"", "t.json: line 1, byte 0: the file is empty"},
           Case{"  ", "t.json: line 1, byte 2: the file ends early"},
           Case{"7", "t.json: line 1, byte 1: not a trace: neither an object nor an array"},
           Case{"\"text\"", "not a trace: neither"},
           Case{"{}", "not a trace: there are no \"traceEvents\""},
           Case{"{\"a\": [{}]}", "not a trace: there are no \"traceEvents\""},
           Case{"{\"traceEvents\": {}}", "byte 16: \"traceEvents\" is not an array"},
           Case{"{\"traceEvents\": null}", "\"traceEvents\" is not an array"},
           Case{"{\"traceEvents\": [], \"traceEvents\": []}", "a second \"traceEvents\""},
           Case{"{\"traceEvents\": [\n{}\n", "t.json: line 3, byte 21: the file ends early"},
           Case{"{\"traceEvents\": [{}]", "the file ends early"},
           Case{"{\"traceEvents\": [{\"na", "the file ends early"},
           Case{"[[]]", "an event that is not an object"},
           Case{"[{}, null]", "line 1, byte 9: an event that is not an object"},
           Case{"[{}] x", "byte 5: "},
           Case{"[{}\n,\n{]}]", "t.json: line 3, byte 7: "},
           Case{"[{\"a\": tru}]", "Invalid value"},
           Case{"[{\"a\": 01}]", "byte 8: "},
           Case{"[{\"a\": 1e}]", "exponent"},
           Case{"[{\"a\": 1e400}]", "byte 7: Number too big"},
           Case{"[{\"a\": \"\\q\"}]", "escape"},
           Case{"[{\"a\": \"\\ud800\"}]", "surrogate"},
           Case{"[{\"a\": \"\xff\"}]", "Invalid encoding"},
           Case{"[{\"a\": \"\xc0\x80\"}]", "Invalid encoding"},
           Case{"[{\"a\": \"\xed\xa0\x80\"}]", "Invalid encoding"},
           Case{std::string("[{\"a\": 1}\0]", 11), "byte 9: "},
           Case{"[{\"ph\": 1}]", "\"ph\" of the event that ends here is neither a string nor null"},
           Case{"[{\"name\": []}]", "\"name\" of the event that ends here is neither a string nor a number"},
           Case{"[{\"cat\": {}}]", "\"cat\" of the event"},
           Case{"[{\"pid\": true}]", "\"pid\" of the event"},
           Case{"[{\"ts\": \"soon\"}]", "\"ts\" of the event that ends here is not a time in microseconds"},
           Case{"[{\"ts\": [1]}]", "\"ts\" of the event"},
           Case{"[{\"ts\": 1e300}]", "out of range"},
           Case{"[{\"ts\": 1, \"dur\": 99999999999999999999}]", "\"dur\" of the event"},
           Case{"[{\"args\": [1]}]", "\"args\" of the event that ends here is not an object"},
           Case{Nested(100), "values nested more than 64 deep"},
           Case{"{\"a\": " + std::string(100000, '['), "values nested more than 64 deep"},
           Case{"[{\"a\": \"" + std::string(JsonStream::kMaxStringBytes + (1 << 17), 'x') + "\"}]", "a string of more than"},
           Case{"[{\"a\": 0." + std::string(10000, '1') + "}]", "a number of more than"},
       }) {
    const SeenTrace seen = Parse(c.text);
    ASSERT_FALSE(seen.result.ok()) << c.text.substr(0, 100);
    const std::string message(seen.result.status().message());
    EXPECT_NE(message.find(c.error), std::string::npos) << c.text.substr(0, 100) << "\n" << message;
    EXPECT_EQ(message.find("t.json: line "), 0u) << message;
  }
}

TEST(TraceParser, RefusesAnEventOfTooManyValues) {
  std::string text = "[{\"args\": {\"a\": [0";
  for (size_t i = 0; i < JsonBuilder::kMaxValues; ++i) text += ",0";
  const SeenTrace seen = Parse(text + "]}}]");
  ASSERT_FALSE(seen.result.ok());
  EXPECT_NE(seen.result.status().message().find("an event of too many values"), std::string::npos);
}

TEST(TraceParser, SaysOfACompressedFileThatItIsDamagedAndWhere) {
  std::string compressed = Gzip(std::string("{\"traceEvents\": [\n") + kOp);
  compressed.resize(compressed.size() - 9);
  const SeenTrace seen = Parse(compressed);
  ASSERT_FALSE(seen.result.ok());
  const std::string message(seen.result.status().message());
  EXPECT_NE(message.find(" of the uncompressed text: the compressed data ends early"), std::string::npos) << message;
}

}  // namespace
}  // namespace ferret
