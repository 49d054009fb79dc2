// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is read out of crash files: of sessions of this process, and of such files damaged.

#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "tests/crash/crash_kit.h"
#include "tools/inspect_json.h"
#include "tools/inspect_report.h"
#include "tools/inspect_text.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InspectReport : public CrashSessionTest {
 protected:
  InspectedProcess Report(size_t last = 5) const {
    InspectedProcess process;
    EXPECT_TRUE(InspectContents(Contents().get(), last, "", 0, &process));
    return process;
  }
  static std::vector<std::string> Open(const InspectedThread& thread) {
    std::vector<std::string> names;
    for (const InspectedScope& scope : thread.open) names.emplace_back(scope.name);
    return names;
  }
  static std::vector<std::string> Last(const InspectedThread& thread) {
    std::vector<std::string> names;
    for (const InspectedEvent& event : thread.last) names.emplace_back(event.name);
    return names;
  }
  // Until the chunks of what came before are recycled.
  void FillAndSettle() {
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 1500; ++j) { const Scope scope("child"); }
      Settle();
    }
  }
};

TEST_F(InspectReport, HasOpenScopesAndTheLastEventsOfAThread) {
  Start();
  for (int i = 0; i < 9; ++i) { const Scope scope("step " + std::to_string(i)); }
  const Scope outer("outer");
  { const Scope scope("done"); }
  const AsyncScope async = BeginAsync("request");
  const Scope inner("inner");
  const InspectedProcess process = Report(3);
  ASSERT_EQ(process.threads.size(), 1u);
  const InspectedThread& thread = process.threads[0];
  EXPECT_TRUE(thread.is_main);
  EXPECT_EQ(thread.os_tid, getpid());
  EXPECT_THAT(Open(thread), ElementsAre("outer", "inner", "request"));
  EXPECT_TRUE(thread.open[2].is_async);
  EXPECT_THAT(Last(thread), ElementsAre("done", "step 8", "step 7"));
  EXPECT_LE(thread.open[0].start_ns, thread.last[0].start_ns);
  EXPECT_GE(thread.open[1].start_ns, thread.last[0].end_ns);
  EXPECT_FALSE(process.lives);
  EXPECT_EQ(process.reference_ns, process.threads[0].open[1].start_ns) << "the last record";
  EndAsync(async);
}

TEST_F(InspectReport, AgesOfAProcessThatLivesAreUpToNow) {
  Start();
  const Scope open("open");
  InspectedProcess process;
  const int64_t before_ns = absl::GetCurrentTimeNanos();
  ASSERT_TRUE(InspectContents(Contents().get(), 5, "/proc/self/task", 0, &process));
  const int64_t after_ns = absl::GetCurrentTimeNanos();
  EXPECT_TRUE(process.lives);
  // The session's clock and the system's may be set apart, but not by so much in a test.
  EXPECT_GT(process.reference_ns, before_ns - 1'000'000'000);
  EXPECT_LT(process.reference_ns, after_ns + 1'000'000'000);
  EXPECT_GT(process.reference_ns, process.threads[0].open[0].start_ns);
  EXPECT_TRUE(process.threads[0].state.known);
  EXPECT_EQ(process.threads[0].state.state, "running");
}

TEST_F(InspectReport, HasScopesWhoseChunksAreGone) {
  Start();
  const Scope outer("outer");
  const OpScope op("open op", ForwardOp(11));
  FillAndSettle();
  ASSERT_TRUE(Contents()->threads().begin()->second.has_carried);
  const InspectedProcess process = Report(1);
  EXPECT_THAT(Open(process.threads[0]), ElementsAre("outer", "open op"));
  EXPECT_THAT(Last(process.threads[0]), ElementsAre("child"));
}

TEST_F(InspectReport, HasNamesThatAreInNoTable) {
  Start();
  const std::string name(2'000'000, 'n');  // more than the table takes
  const Scope open(name);
  const InspectedProcess process = Report();
  ASSERT_EQ(process.threads[0].open.size(), 1u);
  const std::string_view shown = process.threads[0].open[0].name;
  EXPECT_EQ(shown, name.substr(0, shown.size()));
  EXPECT_GE(shown.size(), 1000u);
}

TEST_F(InspectReport, KeepsTheEndsOfAStackThatNeverEnds) {
  Start();
  std::vector<std::unique_ptr<Scope>> stack;
  for (int i = 0; i < 1'000; ++i) stack.push_back(std::make_unique<Scope>("level " + std::to_string(i)));
  std::vector<AsyncScope> async;
  for (int i = 0; i < 300; ++i) async.push_back(BeginAsync("request " + std::to_string(i)));
  const InspectedProcess process = Report();
  const InspectedThread& thread = process.threads.at(0);
  ASSERT_EQ(thread.open.size(), 512u);
  EXPECT_EQ(thread.open_left_out, 788u);
  EXPECT_EQ(thread.open[127].name, "level 127");
  EXPECT_EQ(thread.open[128].name, "level 872");
  EXPECT_EQ(thread.open[255].name, "level 999");
  EXPECT_EQ(thread.open[256].name, "request 0");
  EXPECT_EQ(thread.open[511].name, "request 299");
  for (const AsyncScope& scope : async) EndAsync(scope);
  while (!stack.empty()) stack.pop_back();
}

TEST_F(InspectReport, CutsNamesBetweenCharacters) {
  Start();
  std::string name = "x";
  for (int i = 0; i < 600; ++i) name += "ä";
  const Scope open(name);
  const InspectedProcess process = Report();
  EXPECT_EQ(process.threads.at(0).open.at(0).name, name.substr(0, 999));
}

TEST_F(InspectReport, PutsTheMainThreadFirstThenTheLongestOpen) {
  Start();
  const Scope own("main's");
  Latch end;
  std::vector<std::thread> threads;
  for (const char* const name : {"first", "second"}) {
    auto begun = std::make_shared<Latch>();
    threads.emplace_back([&end, begun, name] {
      SetThreadName(name);
      const Scope open(name);
      begun->Open();
      end.Wait();
    });
    begun->Wait();
  }
  auto recorded = std::make_shared<Latch>();
  threads.emplace_back([&end, recorded] {
    { const Scope scope("done"); }
    recorded->Open();
    end.Wait();
  });
  recorded->Wait();
  const InspectedProcess process = Report();
  ASSERT_EQ(process.threads.size(), 4u);
  EXPECT_THAT(Open(process.threads[0]), ElementsAre("main's"));
  EXPECT_EQ(process.threads[1].name, "first");
  EXPECT_EQ(process.threads[2].name, "second");
  EXPECT_THAT(Open(process.threads[3]), IsEmpty());
  EXPECT_THAT(Last(process.threads[3]), ElementsAre("done"));
  end.Open();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(InspectReport, LeavesOutThreadsThatHaveExitedWithNothingOpen) {
  Start();
  AsyncScope async;
  std::thread([] { const Scope scope("done"); }).join();
  std::thread([&] { async = BeginAsync("request"); }).join();
  const InspectedProcess process = Report();
  ASSERT_EQ(process.threads.size(), 1u);
  EXPECT_TRUE(process.threads[0].has_exited);
  EXPECT_THAT(Open(process.threads[0]), ElementsAre("request"));
  EndAsync(async);
}

TEST_F(InspectReport, KnowsTheLastStep) {
  Start();
  Settle();
  EXPECT_FALSE(Report().has_step);
  { const Scope scope("work"); }
  Step(7);
  { const Scope scope("work"); }
  Step();
  Settle();
  // The drain tells of it after the batch that it settled.
  while (!Report().has_step || Report().step != 8) Settle();
  const InspectedProcess process = Report();
  EXPECT_LE(process.step_end_ns, process.reference_ns);
  EXPECT_GE(process.step_end_ns, process.threads[0].last[0].end_ns);
}

TEST_F(InspectReport, KnowsThatRecordingHasEnded) {
  options_.crash_keep = true;
  Start();
  const Scope open("open");
  EXPECT_FALSE(Report().has_ended);
  EXPECT_FALSE(Report().is_paused);
  ASSERT_TRUE(Stop60().ok());
  EXPECT_TRUE(Report().has_ended);
  EXPECT_FALSE(Report().is_paused);
  EXPECT_THAT(InspectText(Report(), false), ::testing::HasSubstr("recording has ended, and with it what is open here"));
}

TEST_F(InspectReport, ShowsWhichExporterIsBehind) {
  Start();
  { const Scope scope("exported"); }
  Settle();
  InspectedProcess process = Report();
  ASSERT_EQ(process.exporters.size(), 2u);
  EXPECT_EQ(process.exporters[0].behind, 0u);
  gate_.Set(true);
  // The first one hangs in its batch; the other one goes on.
  do {
    { const Scope scope("not exported"); }
    process = Report();
  } while (process.exporters[0].behind == 0 || process.exporters[1].behind >= process.exporters[0].behind);
  EXPECT_EQ(process.exporters[0].name, "gate");
  EXPECT_GT(process.exporters[0].behind, process.exporters[1].behind);
}

}  // namespace
}  // namespace ferret
