// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole run into a table: a million scopes, recorded, built, added up and printed.

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/chrome_trace/trace_files.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

TEST(TableSession, CountsEveryScopeOfAMillion) {
  constexpr int kThreads = 2, kRounds = 125'000;
  TempDir folder;
  Options options = TestOptions();
  options.overflow = Options::Overflow::kBlock;
  options.block_limit = absl::Seconds(10);
  options.exporters = "table:" + folder / "out.json" + "?format=json&group_by_input_shapes=1";
  ASSERT_TRUE(StartSession(options, {}).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      SetThreadName("named late");
      for (int64_t n = 0; n < kRounds; ++n) {
        FERRET_SCOPE("outer");
        { FERRET_ANNOTATION("outer"); }
        { FERRET_OP_SCOPE("mul", ForwardOp(n)); }
        { Scope scope("dynamic " + std::to_string(n % 10)); }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Stop60().ok());
  ASSERT_EQ(Losses().total(), 0u) << "the policy is to wait";

  rapidjson::Document document;
  document.Parse(ReadFile(folder / "out.json").c_str());
  ASSERT_FALSE(document.HasParseError());
  constexpr int64_t kAll = int64_t{kThreads} * kRounds;
  EXPECT_EQ(document["events"].GetInt64(), 4 * kAll);
  std::map<std::string, int64_t> counts;
  for (const auto& row : document["rows"].GetArray()) {
    counts[row["key"].GetString()] += row["count"].GetInt64();
    EXPECT_LE(row["self_cpu_time_total_ns"].GetInt64(), row["cpu_time_total_ns"].GetInt64());
    EXPECT_LE(row["p50_ns"].GetInt64(), row["p95_ns"].GetInt64());
    EXPECT_LE(row["p99_ns"].GetInt64(), row["max_ns"].GetInt64());
    EXPECT_LE(row["p50_ns"].GetInt64() * row["count"].GetInt64() / 2, row["cpu_time_total_ns"].GetInt64() * 33 / 32);
  }
  EXPECT_EQ(counts.size(), 12u);
  EXPECT_EQ(counts["outer"], 2 * kAll) << "the scope and the annotation of that name";
  EXPECT_EQ(counts["mul"], kAll);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(counts["dynamic " + std::to_string(i)], kAll / 10);
}

}  // namespace
}  // namespace ferret
