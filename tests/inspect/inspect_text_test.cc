// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How an inspected process is shown, to people and to programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <filesystem>
#include <string>

#include "tests/tools/program.h"
#include "tools/inspect_json.h"
#include "tools/inspect_text.h"

namespace ferret {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

InspectedThread Thread(uint32_t number, const std::string& name) {
  InspectedThread thread;
  thread.thread = number;
  thread.os_tid = static_cast<int32_t>(100 + number);
  thread.name = name;
  thread.last_ns = kNow - 3 * kSecond;
  return thread;
}

InspectedProcess Process() {
  InspectedProcess process;
  process.file = "/dev/shm/ferret-101-0.crash";
  process.pid = 101;
  process.lives = true;
  process.info.process_name = "python3";
  process.info.has_rank = true;
  process.info.rank = 3;
  process.info.world_size = 8;
  process.info.start_ns = kNow - 7'260 * kSecond;
  process.reference_ns = kNow;
  process.last_record_ns = kNow - 12 * kSecond;
  process.has_step = true;
  process.step = 41;
  process.step_end_ns = kNow - 13 * kSecond;
  process.lost.by_reason[static_cast<size_t>(LossReason::kPoolExhausted)] = 7;
  process.chunks_used = 5;
  process.chunks = 1024;
  process.chunk_bytes = 65536;
  process.exporters = {{"chrome_trace", "t.json.tmp", false, 0}, {"otlp", "", false, 12}, {"table", "", true, 0}};
  process.notes = {"skipped 1 chunks"};

  InspectedThread main = Thread(1, "python3");
  main.is_main = true;
  main.state = {true, false, "python3", "sleeping", "futex"};
  main.open = {{"train step", kNow - 13 * kSecond, false},
               {"wait for lock", kNow - 12'500'000'000, false},
               {"request", kNow - 90 * kSecond, true}};
  main.last = {{"aten::add", kNow - 14 * kSecond, kNow - 14 * kSecond + 1'234}};
  process.threads = {main, Thread(2, "loader"), Thread(3, "loader")};
  process.threads[2].last_ns = kNow - 60 * kSecond;
  return process;
}

TEST(InspectText, ShowsWhatIsOpenForHowLongAndWhatEndedLast) {
  EXPECT_EQ(InspectText(Process(), false),
            "process 101 python3, rank 3 of 8, recording for 2 h 01 min\n"
            "  last step: ProfilerStep#41, ended 13.0 s ago\n"
            "  file: /dev/shm/ferret-101-0.crash, 5 of 1024 chunks in use\n"
            "  exporter chrome_trace: has everything\n"
            "  exporter otlp: 12 batches behind\n"
            "  exporter table: disabled\n"
            "  lost 7: " + std::string(LossReasonText(LossReason::kPoolExhausted)) + "\n"
            "  skipped 1 chunks\n"
            "\n"
            "thread 1 main \"python3\", tid 101, sleeping in futex\n"
            "       open for 13.0 s  train step\n"
            "       open for 12.5 s    wait for lock\n"
            "   open for 1 min 30 s  request (asynchronous)\n"
            "      ended 14.0 s ago  aten::add, took 1.23 us\n"
            "\n"
            "2 more threads with nothing open, idle for 3.00 s to 1 min 00 s (--all-threads shows them)\n");
}

TEST(InspectText, ShowsAllThreadsWhenAsked) {
  const std::string text = InspectText(Process(), true);
  EXPECT_THAT(text, HasSubstr("thread 3 \"loader\", tid 103"));
  EXPECT_THAT(text, Not(HasSubstr("more thread")));
}

TEST(InspectText, SaysThatAgesOfADeadProcessEndWithItsLastRecord) {
  InspectedProcess process = Process();
  process.lives = false;
  EXPECT_THAT(InspectText(process, false), HasSubstr("rank 3 of 8, dead: ages are up to its last record, 20"));
}

TEST(InspectText, SaysThatRecordingIsPaused) {
  InspectedProcess process = Process();
  process.is_paused = true;
  process.paused_ns = kNow - 5 * kSecond;
  EXPECT_THAT(InspectText(process, false), HasSubstr("paused for 5.00 s: what was open then may have ended"));
}

TEST(InspectText, CutsStacksThatNeverEndInTheMiddle) {
  InspectedProcess process = Process();
  process.threads[0].open.clear();
  for (int i = 0; i < 1'000; ++i) {
    process.threads[0].open.push_back({process.names->Intern("level " + std::to_string(i)), kNow, false});
  }
  const std::string text = InspectText(process, false);
  EXPECT_THAT(text, HasSubstr("level 0\n"));
  EXPECT_THAT(text, HasSubstr("level 31\n"));
  EXPECT_THAT(text, HasSubstr("… 936 more scopes …"));
  EXPECT_THAT(text, HasSubstr("level 968\n"));
  EXPECT_THAT(text, HasSubstr("level 999\n"));
  EXPECT_THAT(text, Not(HasSubstr("level 967\n")));
}

TEST(InspectText, CountsScopesThatWereLeftOut) {
  InspectedProcess process = Process();
  process.threads[0].open.assign(256, {"level", kNow, false});
  process.threads[0].open_left_out = 100'000;
  EXPECT_THAT(InspectText(process, false), HasSubstr("… 100192 more scopes …"));
}

TEST(InspectText, SaysOnlyOfThreadsThatAreGoneThatTheyAre) {
  InspectedProcess process = Process();
  process.threads[1].state.is_gone = true;
  const std::string text = InspectText(process, true);
  EXPECT_THAT(text, HasSubstr("tid 102, is gone\n"));
  EXPECT_THAT(text, HasSubstr("tid 103\n")) << "nobody knows";
}

TEST(InspectText, DurationsHaveThreeDigits) {
  const std::pair<int64_t, const char*> cases[] = {
      {-5, "0 ns"}, {999, "999 ns"}, {1'000, "1.00 us"}, {9'994, "9.99 us"}, {9'995, "10.0 us"},
      {99'950, "100 us"}, {999'499, "999 us"}, {999'500, "1.00 ms"}, {12'345'678, "12.3 ms"},
      {999'500'000, "1.00 s"}, {59 * kSecond, "59.0 s"}, {60 * kSecond, "1 min 00 s"},
      {3'599 * kSecond, "59 min 59 s"}, {3'600 * kSecond, "1 h 00 min"}, {INT64_MAX, "2562047 h 47 min"}};
  for (const auto& [ns, text] : cases) EXPECT_EQ(DurationText(ns), text) << ns;
}

TEST(InspectText, NamesCannotControlTheTerminalOrFillIt) {
  EXPECT_EQ(ShownName("aten::größe"), "aten::größe");
  EXPECT_EQ(ShownName("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(ShownName("c1\xc2\x9b" "31m"), "c1\\x9b31m");
  EXPECT_EQ(ShownName("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(ShownName(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(ShownName("head" + std::string(200'000, 'x')), "head" + std::string(46, 'x') + "…" + std::string(50, 'x'));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  EXPECT_EQ(ShownName("x" + umlauts).substr(0, 5), "xää");
  std::string valid;
  for (size_t i = 0; i < 25; ++i) valid += "ä";
  EXPECT_EQ(ShownName("x" + umlauts), "x" + valid.substr(0, 48) + "…" + valid);
}

// A folder as /proc has it of a process in a container, where its threads are 1 and 7.
TEST(ThreadStates, AreFoundByTheIdsThatThreadsHaveInTheirContainer) {
  const TemporaryFolder folder;
  const auto add = [&](const std::string& tid, const std::string& status, const std::string& stat) {
    std::filesystem::create_directory(folder / tid);
    WriteFile(folder / tid + "/status", status);
    WriteFile(folder / tid + "/stat", stat);
  };
  add("812", "Name:\tmain\nPid:\t812\nNSpid:\t812\t1\n", "812 (main) S 1");
  add("815", "Name:\tworker\nPid:\t815\nNSpid:\t815\t7\n", "815 (worker) R 1");
  const ThreadStates states(folder.path());
  EXPECT_EQ(states.Of(1).name, "main");
  EXPECT_EQ(states.Of(7).state, "running");
  EXPECT_TRUE(states.Of(815).is_gone) << "nobody has that id there";
  add("816", "", "");  // has ended while it was read
  const ThreadStates incomplete(folder.path());
  EXPECT_EQ(incomplete.Of(7).name, "worker");
  EXPECT_FALSE(incomplete.Of(815).is_gone);
  EXPECT_FALSE(ThreadStates("").Of(1).is_gone);
  EXPECT_FALSE(ThreadStates(folder / "none").Of(1).is_gone);
}

TEST(InspectJson, HasWhatTheTextHas) {
  InspectedProcess process = Process();
  process.threads[0].open[0].name = "a \"quoted\"\n name";
  rapidjson::Document json;
  json.Parse(InspectJson(process).c_str());
  ASSERT_FALSE(json.HasParseError()) << InspectJson(process);
  EXPECT_EQ(json["pid"].GetInt(), 101);
  EXPECT_EQ(json["rank"].GetInt(), 3);
  EXPECT_TRUE(json["is_alive"].GetBool());
  EXPECT_EQ(json["last_step"]["number"].GetUint64(), 41u);
  EXPECT_EQ(json["lost"][std::string(LossReasonText(LossReason::kPoolExhausted)).c_str()].GetUint64(), 7u);
  EXPECT_EQ(json["exporters"][1]["batches_behind"].GetUint64(), 12u);
  EXPECT_TRUE(json["exporters"][2]["is_disabled"].GetBool());
  ASSERT_EQ(json["threads"].Size(), 3u);
  const rapidjson::Value& main = json["threads"][0];
  EXPECT_EQ(std::string(main["waiting_in"].GetString()), "futex");
  EXPECT_EQ(std::string(main["open"][0]["name"].GetString()), "a \"quoted\"\n name");
  EXPECT_EQ(main["open"][1]["age_ns"].GetInt64(), 12'500'000'000);
  EXPECT_TRUE(main["open"][2]["is_async"].GetBool());
  EXPECT_EQ(main["last"][0]["duration_ns"].GetInt64(), 1'234);
  EXPECT_TRUE(json["threads"][1]["state"].IsNull());
}

TEST(InspectJson, SaysNullWhereThereIsNothing) {
  rapidjson::Document json;
  json.Parse(InspectJson(InspectedProcess()).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_TRUE(json["rank"].IsNull());
  EXPECT_TRUE(json["last_step"].IsNull());
  EXPECT_EQ(json["threads"].Size(), 0u);
}

}  // namespace
}  // namespace ferret
