// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret table` as a user types it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <vector>

#include "tests/tools/program.h"
#include "tests/trace_reader/trace_texts.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kTrace[] = R"([
    {"ph": "X", "cat": "cpu_op", "name": "outer \"x\"", "pid": 1, "tid": 1, "ts": 0, "dur": 2000},
    {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 10, "dur": 20,
     "args": {"Input type": ["float"], "Input Dims": [[2, 3]], "Call stack": "b.py(2): g;a.py(1): f"}},
    {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 40.5, "dur": 1500.25,
     "args": {"Input type": ["float"], "Input Dims": [[4]]}},
    {"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 1, "tid": 1, "ts": 3000, "dur": 1}])";

class FerretTable : public ::testing::Test {
 protected:
  FerretTable() : trace_(folder_ / "trace.json") { WriteFile(trace_, kTrace); }

  Outcome Table(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {DataFile("tools/ferret"), "table"});
    return RunProgram(arguments);
  }
  // Of --json with these options: the values of `key`, as they are written for strings and numbers.
  std::vector<std::string> Column(const char* key, std::vector<std::string> options) const {
    options.insert(options.end(), {"--json", trace_});
    const Outcome outcome = Table(options);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
    rapidjson::Document document;
    document.Parse(outcome.out.data(), outcome.out.size());
    EXPECT_FALSE(document.HasParseError()) << outcome.out;
    std::vector<std::string> column;
    for (const auto& row : document["rows"].GetArray()) {
      column.push_back(row[key].IsString() ? row[key].GetString() : std::to_string(row[key].GetInt64()));
    }
    return column;
  }

  const TemporaryFolder folder_;
  const std::string trace_;
};

TEST_F(FerretTable, PrintsRowsLargestSelfTimeFirst) {
  const Outcome outcome = Table({trace_});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.err, "");
  const size_t inner = outcome.out.find("inner");
  const size_t outer = outcome.out.find("outer \"x\"");
  ASSERT_NE(inner, std::string::npos);
  ASSERT_NE(outer, std::string::npos);
  EXPECT_LT(inner, outer);
  EXPECT_THAT(outcome.out, HasSubstr("1.520ms"));
  EXPECT_THAT(outcome.out, HasSubstr("Self CPU time total: 2.001ms\n"));
}

TEST_F(FerretTable, WritesTheSameRowsAsJson) {
  EXPECT_THAT(Column("name", {}), ElementsAre("inner", "outer \"x\"", "a.py(1): f"));
  EXPECT_THAT(Column("calls", {}), ElementsAre("2", "1", "1"));
  EXPECT_THAT(Column("total_cpu_ns", {}), ElementsAre("1520250", "2000000", "1000"));
  EXPECT_THAT(Column("self_cpu_ns", {}), ElementsAre("1520250", "479750", "1000"));
}

TEST_F(FerretTable, TakesEveryOption) {
  EXPECT_THAT(Column("name", {"--sort-by=cpu_time_total"}), ElementsAre("outer \"x\"", "inner", "a.py(1): f"));
  EXPECT_THAT(Column("name", {"--sort-by", "none"}), ElementsAre("outer \"x\"", "inner", "a.py(1): f"));
  EXPECT_THAT(Column("name", {"--row-limit", "1"}), ElementsAre("inner"));
  EXPECT_THAT(Column("name", {"--row-limit=-1", "--no-python-functions"}), ElementsAre("inner", "outer \"x\""));
  EXPECT_THAT(Column("name", {"--top-level-events-only"}), ElementsAre("outer \"x\"", "a.py(1): f"));
  EXPECT_THAT(Column("calls", {"--group-by-input-shapes"}), ElementsAre("1", "1", "1", "1"));
  EXPECT_THAT(Column("calls", {"--group-by-stack", "1"}), ElementsAre("1", "1", "1", "1"));
  EXPECT_THAT(Column("overload_name", {"--group-by-overload-name"}), ElementsAre("", "", ""));

  EXPECT_THAT(Table({"--time-unit=us", trace_}).out, HasSubstr("1520.250us"));
  EXPECT_THAT(Table({trace_, "--header", "of a run"}).out, HasSubstr("of a run\n"));
  EXPECT_THAT(Table({"--max-name-column-width", "8", trace_}).out, HasSubstr("outer..."));
  EXPECT_THAT(Table({"--group-by-input-shapes", trace_}).out, HasSubstr("[[2, 3]]"));
  EXPECT_THAT(Table({"--group-by-stack=5", trace_}).out, HasSubstr("b.py(2): g"));
}

TEST_F(FerretTable, ReadsGzipAndWarnsOfAnArrayThatEndsEarly) {
  WriteFile(trace_, Gzip(std::string(kTrace).substr(0, sizeof(kTrace) - 2)));
  const Outcome outcome = Table({trace_});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.err, "ferret: " + trace_ + ": the file ends early; what is there was read\n");
  EXPECT_THAT(outcome.out, HasSubstr("inner"));
}

TEST_F(FerretTable, SaysOfABadFileWhatIsWrongAndWhereAndEndsWith1) {
  WriteFile(trace_, "{\"traceEvents\": [\n{\"ts\": []}]}");
  Outcome outcome = Table({"--json", trace_});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("ferret: " + trace_ + ": line 2, byte 27: \"ts\" of the event that ends here"));

  outcome = Table({folder_ / "missing.json"});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.err, "ferret: " + (folder_ / "missing.json") + ": No such file or directory\n");
  outcome = Table({folder_.path()});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.err, "ferret: " + folder_.path() + ": Is a directory\n");
}

TEST_F(FerretTable, SaysThatThereAreNoEvents) {
  WriteFile(trace_, "[]");
  Outcome outcome = Table({trace_});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "ferret: " + trace_ + ": no events\n");
  EXPECT_EQ(Table({trace_, "--json"}).out, "{\"rows\": [\n]}\n");
}

TEST_F(FerretTable, RefusesWhatItDoesNotUnderstand) {
  struct Case {
    std::vector<std::string> arguments;
    std::string error;
  };
  for (const Case& c : {
           Case{{}, "ferret: no file\n"},
           Case{{trace_, "other.json"}, "ferret: more than one file: other.json\n"},
           Case{{"--colour", trace_}, "ferret: unknown option --colour\n"},
           Case{{"--json=1", trace_}, "ferret: --json takes no value\n"},
           Case{{trace_, "--sort-by"}, "ferret: --sort-by needs a value\n"},
           Case{{trace_, "--sort-by", "size"}, "ferret: --sort-by: \"size\" is not one of: none, cpu_time, "},
           Case{{trace_, "--row-limit", "many"}, "ferret: --row-limit: \"many\" is not a number of rows"},
           Case{{trace_, "--row-limit", "-2"}, "ferret: --row-limit: \"-2\" is not "},
           Case{{trace_, "--group-by-stack=99999999999999999999"}, "ferret: --group-by-stack: "},
           Case{{trace_, "--time-unit", "ns"}, "ferret: --time-unit: \"ns\" is not s, ms or us\n"},
           Case{{trace_, "--max-name-column-width=0"}, "ferret: --max-name-column-width: \"0\" is not "},
       }) {
    const Outcome outcome = Table(c.arguments);
    EXPECT_EQ(outcome.exit_status, 125);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith(c.error));
    EXPECT_THAT(outcome.err, HasSubstr("usage: ferret table "));
  }
}

TEST_F(FerretTable, TakesAFileThatLooksLikeAnOption) {
  const Outcome outcome = Table({"--json", "--", "--json"});
  EXPECT_EQ(outcome.err, "ferret: --json: No such file or directory\n");
}

TEST_F(FerretTable, ExplainsItselfInLinesThatFitATerminal) {
  const Outcome help = Table({"--help"});
  EXPECT_EQ(help.exit_status, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, StartsWith("usage: ferret table [OPTION]... FILE\n"));
  EXPECT_EQ(RunProgram({DataFile("tools/ferret"), "help", "table"}).out, help.out);
  for (const char* option : {"--json", "--sort-by", "--row-limit", "--group-by-input-shapes", "--group-by-stack",
                             "--group-by-overload-name", "--no-python-functions", "--top-level-events-only",
                             "--time-unit", "--header", "--max-name-column-width", "--max-shapes-column-width",
                             "--max-src-column-width", "self_device_memory_usage"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  for (size_t at = 0; at < help.out.size();) {
    const size_t end = help.out.find('\n', at);
    EXPECT_LE(end - at, 100u) << help.out.substr(at, end - at);
    at = end + 1;
  }
}

TEST_F(FerretTable, FailsWhereItCannotWrite) {
  const Outcome outcome = RunProgram({"sh", "-c", DataFile("tools/ferret") + " table " + trace_ + " >/dev/full"});
  EXPECT_EQ(outcome.exit_status, 125);
  EXPECT_EQ(outcome.err, "ferret: cannot write to standard output\n");
}

}  // namespace
}  // namespace ferret
