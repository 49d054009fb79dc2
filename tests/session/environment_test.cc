// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/session/variables.h"

namespace ferret {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

using Set = std::map<std::string, std::string>;

absl::StatusOr<Options> Read(const Set& variables) {
  return OptionsFromEnvironment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string ErrorOf(const Set& variables) { return std::string(Read(variables).status().message()); }

// What the option of `variable` is, as text, after `value` was read.
std::string ReadBack(const std::string& variable, const std::string& value) {
  const absl::StatusOr<Options> options = Read({{variable, value}});
  if (!options.ok()) return options.status().ToString();
  for (const Variable& known : Variables()) {
    if (variable == known.name) return known.print(*options);
  }
  return "no such variable";
}

struct Good {
  const char* variable;
  const char* value;
  const char* read_back;
};

class GoodValue : public ::testing::TestWithParam<Good> {};

TEST_P(GoodValue, IsReadIntoItsOption) {
  EXPECT_EQ(ReadBack(GetParam().variable, GetParam().value), GetParam().read_back);
}

INSTANTIATE_TEST_SUITE_P(
    Environment, GoodValue,
    ::testing::Values(
        Good{"FERRET_EXPORT", "chrome_trace:t-%r.json.gz,otlp", "chrome_trace:t-%r.json.gz,otlp"},
        Good{"FERRET_EXPORTERS", "/a/b.so", "/a/b.so"}, Good{"FERRET_EXPORTERS", ":/a.so::/b.so:", "/a.so:/b.so"},
        Good{"FERRET_BUFFER_SIZE", "128K", "128K"}, Good{"FERRET_BUFFER_SIZE", "16G", "16G"},
        Good{"FERRET_BUFFER_SIZE", "131072", "128K"}, Good{"FERRET_BUFFER_SIZE", "1m", "1M"},
        Good{"FERRET_BUFFER_SIZE", "131073", "131073"}, Good{"FERRET_BUFFER_CAP", "2G", "2G"},
        Good{"FERRET_OVERFLOW", "drop", "drop"}, Good{"FERRET_OVERFLOW", "block", "block"},
        Good{"FERRET_OVERFLOW", "grow", "grow"}, Good{"FERRET_BLOCK_LIMIT", "1ms", "1ms"},
        Good{"FERRET_BLOCK_LIMIT", "2s", "2s"}, Good{"FERRET_BLOCK_LIMIT", "1.5s", "1.5s"},
        Good{"FERRET_EXPORTER_QUEUE", "1M", "1M"}, Good{"FERRET_LINK_TABLE", "1024", "1K"},
        Good{"FERRET_LINK_TABLE", "1000000", "1000000"}, Good{"FERRET_STOP_DEADLINE", "10ms", "10ms"},
        Good{"FERRET_STOP_DEADLINE", "1h", "1h"}, Good{"FERRET_CLOCK", "auto", "auto"},
        Good{"FERRET_CLOCK", "tsc", "tsc"}, Good{"FERRET_CLOCK", "monotonic", "monotonic"},
        Good{"FERRET_FORK", "restart", "restart"}, Good{"FERRET_LOG", "error", "error"},
        Good{"FERRET_LOG", "warning", "warning"}, Good{"FERRET_LOG", "info", "info"},
        Good{"FERRET_SCHEDULE", "wait=5,warmup=1,active=3,repeat=2,skip_first=10,skip_first_wait=1",
             "skip_first=10,skip_first_wait=1,wait=5,warmup=1,active=3,repeat=2"},
        Good{"FERRET_SCHEDULE", "time:wait=60s,active=5s,repeat=0",
             "time:skip_first=0,skip_first_wait=0,wait=1m,warmup=0,active=5s,repeat=0"},
        Good{"FERRET_RUN_ID", "68-a", "68-a"},
        Good{"FERRET_RUN_REPORT", "/tmp/r", "/tmp/r"}));

struct Bad {
  const char* variable;
  const char* value;
};

class BadValue : public ::testing::TestWithParam<Bad> {};

TEST_P(BadValue, IsOneLineWithVariableValueAndWhatIsAllowed) {
  const Bad& bad = GetParam();
  const absl::StatusOr<Options> options = Read({{"FERRET_EXPORT", "chrome_trace"}, {bad.variable, bad.value}});
  ASSERT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(options.status().message());
  EXPECT_THAT(message, HasSubstr(std::string(bad.variable) + "=\"" + bad.value + "\""));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  for (const Variable& known : Variables()) {
    if (bad.variable == std::string(known.name)) {
      EXPECT_THAT(message, HasSubstr(known.allowed));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Environment, BadValue,
    ::testing::Values(
        Bad{"FERRET_BUFFER_SIZE", "64"}, Bad{"FERRET_BUFFER_SIZE", "127K"}, Bad{"FERRET_BUFFER_SIZE", "17G"},
        Bad{"FERRET_BUFFER_SIZE", "-1M"}, Bad{"FERRET_BUFFER_SIZE", "+1M"}, Bad{"FERRET_BUFFER_SIZE", " 1M"},
        Bad{"FERRET_BUFFER_SIZE", "1 M"}, Bad{"FERRET_BUFFER_SIZE", "M"}, Bad{"FERRET_BUFFER_SIZE", "1.5M"},
        Bad{"FERRET_BUFFER_SIZE", "1MB"}, Bad{"FERRET_BUFFER_SIZE", "1T"}, Bad{"FERRET_BUFFER_SIZE", "0x100000"},
        Bad{"FERRET_BUFFER_SIZE", "17179869184G"}, Bad{"FERRET_BUFFER_SIZE", "99999999999999999999"},
        Bad{"FERRET_BUFFER_CAP", "1"}, Bad{"FERRET_OVERFLOW", "Drop"}, Bad{"FERRET_OVERFLOW", "drop "},
        Bad{"FERRET_OVERFLOW", "oldest"}, Bad{"FERRET_BLOCK_LIMIT", "100"}, Bad{"FERRET_BLOCK_LIMIT", "0"},
        Bad{"FERRET_BLOCK_LIMIT", "inf"}, Bad{"FERRET_BLOCK_LIMIT", "-1s"}, Bad{"FERRET_BLOCK_LIMIT", "11s"},
        Bad{"FERRET_BLOCK_LIMIT", "1 s"}, Bad{"FERRET_EXPORTER_QUEUE", "1K"}, Bad{"FERRET_LINK_TABLE", "0"},
        Bad{"FERRET_LINK_TABLE", "many"}, Bad{"FERRET_STOP_DEADLINE", "1ms"}, Bad{"FERRET_STOP_DEADLINE", "never"},
        Bad{"FERRET_CLOCK", "rdtsc"}, Bad{"FERRET_FORK", "on"},
        Bad{"FERRET_LOG", "debug"}, Bad{"FERRET_SCHEDULE", "wait=5,warmup=1"}, Bad{"FERRET_SCHEDULE", "active=0"},
        Bad{"FERRET_SCHEDULE", "active=3,epeat=2"}, Bad{"FERRET_SCHEDULE", "time:active=5"},
        Bad{"FERRET_SCHEDULE", "on"}));

TEST(Environment, EmptyMeansTheSameAsUnset) {
  Set empty;
  for (const Variable& variable : Variables()) empty[variable.name] = "";
  const absl::StatusOr<Options> options = Read(empty);
  ASSERT_TRUE(options.ok()) << options.status();
  for (const Variable& variable : Variables()) EXPECT_EQ(variable.print(*options), variable.print(Options()));
}

TEST(Environment, DefaultsReadBackAsThemselves) {
  for (const Variable& variable : Variables()) {
    Options options;
    EXPECT_TRUE(SetVariable(variable, variable.print(Options()), &options).ok()) << variable.name;
  }
}

TEST(Environment, GrowBeyondTheCapNamesTheVariableToRaise) {
  EXPECT_THAT(ErrorOf({{"FERRET_BUFFER_SIZE", "1G"}, {"FERRET_OVERFLOW", "grow"}}),
              AllOf(HasSubstr("FERRET_OVERFLOW=\"grow\""), HasSubstr("FERRET_BUFFER_CAP")));
  EXPECT_TRUE(Read({{"FERRET_BUFFER_SIZE", "1G"}, {"FERRET_BUFFER_CAP", "1G"}, {"FERRET_OVERFLOW", "grow"}}).ok());
}

TEST(Environment, DiagnosticsAreOnePrintableLineWhateverTheValue) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  for (const std::string& value : {every_byte, std::string(100000, 'x'), std::string(300, '\n')}) {
    const std::string message = ErrorOf({{"FERRET_CLOCK", value}});
    EXPECT_LT(message.size(), 320u);
    EXPECT_THAT(message, HasSubstr("...\""));
    EXPECT_THAT(std::vector<char>(message.begin(), message.end()), Each(AllOf(::testing::Ge(' '), ::testing::Le('~'))));
  }
}

TEST(Environment, RecordingIsRequestedByANonEmptyExport) {
  EXPECT_FALSE(RecordingRequested([](const char*) -> const char* { return nullptr; }));
  EXPECT_FALSE(RecordingRequested([](const char*) -> const char* { return ""; }));
  EXPECT_TRUE(RecordingRequested([](const char*) -> const char* { return "memory"; }));
}

TEST(Environment, AFailedVariableLeavesTheOptionsAsTheyWere) {
  Options options;
  for (const Variable& variable : Variables()) {
    if (variable.name == std::string("FERRET_BUFFER_SIZE")) {
      EXPECT_FALSE(SetVariable(variable, "1", &options).ok());
    }
  }
  EXPECT_EQ(options.buffer_bytes, Options().buffer_bytes);
}

TEST(UnknownVariables, OneLineWithWhatWasProbablyMeant) {
  const char* environment[] = {"PATH=/bin", "FERRET_BUFER_SIZE=1M", "FERRET_EXPROT=x", "FERRET_ZZZZZZZZZZZ=1",
                               "FERRET_LOG=info", nullptr};
  EXPECT_EQ(UnknownVariables(environment),
            "not a variable of Ferret: \"FERRET_BUFER_SIZE\" (did you mean FERRET_BUFFER_SIZE?), \"FERRET_EXPROT\" "
            "(did you mean FERRET_EXPORT?), \"FERRET_ZZZZZZZZZZZ\"");
}

TEST(UnknownVariables, NothingIsSaidWhereNothingIsWrong) {
  const char* environment[] = {"FERRET_EXPORT=x", "FERRET_UNKNOWN=",     "FERRETS=3", "FERRET_PYTHON=/usr/bin/python3",
                               "FERRET_RUN_ID=1", "FERRET_NO_EQUALS_SIGN", "",          nullptr};
  EXPECT_EQ(UnknownVariables(environment), "");
  EXPECT_EQ(UnknownVariables(nullptr), "");
}

TEST(UnknownVariables, ManyOrLongNamesStayOneShortLine) {
  std::vector<std::string> entries;
  const std::string long_name = "FERRET_" + std::string(10000, 'X') + "\n";
  for (int i = 0; i < 100; ++i) entries.push_back(long_name + std::to_string(i) + "=1");
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  const std::string line = UnknownVariables(environment.data());
  EXPECT_LT(line.size(), 1200u);
  EXPECT_THAT(line, AllOf(HasSubstr("and 95 more"), Not(HasSubstr("\n"))));
}

TEST(Variables, DescriptionLeavesOutOutputsAndInternals) {
  Options options;
  options.exporters = "otlp:https://host?token=secret";
  options.run_report = "/tmp/report";
  const auto described = DescribeOptions(options);
  size_t settings = 0;
  for (const Variable& variable : Variables()) settings += variable.kind == Variable::Kind::kSetting;
  EXPECT_EQ(described.size(), settings);
  for (const auto& [name, value] : described) {
    EXPECT_THAT(value, Not(HasSubstr("secret")));
    EXPECT_THAT(name, Not(HasSubstr("RUN")));
  }
}

TEST(Variables, EveryOneIsInBothTables) {
  for (const Variable& variable : Variables()) {
    EXPECT_THAT(VariablesText(), HasSubstr(variable.name));
    EXPECT_THAT(VariablesMarkdown(),
                HasSubstr(std::string("\n| `") + variable.name + "` | " + variable.allowed + " | "));
    // A bar would end the cell.
    EXPECT_THAT(std::string(variable.allowed) + variable.meaning, Not(HasSubstr("|")));
  }
}

}  // namespace
}  // namespace ferret
