// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sessions with a schedule: events come from the windows and from nowhere else, and each one comes.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ferret/c_api.h"
#include "ferret/internal/adapter.h"
#include "runtime/session/schedule.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

Options Scheduled(const std::string& text) {
  Options options = TestOptions();
  EXPECT_TRUE(ParseSchedule(text, &options.schedule));
  return options;
}

std::vector<std::string> NamesOf(const CollectedTrace& trace, bool synthesized) {
  std::vector<FunctionEvent> events = trace.events;
  // Stable: where time is held, several steps begin in one nanosecond, and stand in their order already.
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  std::vector<std::string> names;
  for (const FunctionEvent& event : events) {
    if (event.is_synthesized == synthesized) names.emplace_back(event.trace_name());
  }
  return names;
}

using Names = std::vector<std::string>;

// More windows than are remembered, before the drain gets to read them.
TEST(ScheduledSession, OfThousandsOfShortWindowsKeepsItsTimes) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("wait=1,active=1"), Exporters().Memory(collector).Take()).ok());
  for (int step = 0; step < 6000; ++step) {
    { FERRET_SCOPE("work"); }
    Step();
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  EXPECT_GT(trace.events.size(), 0u);
  for (const FunctionEvent& event : trace.events) {
    ASSERT_GE(event.start_ns, trace.info.start_ns);
    ASSERT_GE(event.end_ns, event.start_ns);
  }
}

TEST(ScheduledSession, AnAsynchronousScopeThatOutlastsItsWindowEndsWithItFlagged) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("active=1,wait=1"), Exporters().Memory(collector).Take()).ok());
  Step();  // the first step is a wait
  AsyncScope scope;
  std::thread([&scope] { scope = BeginAsync("request"); }).join();
  ASSERT_NE(scope.handle, 0u);
  { FERRET_SCOPE("in the first window"); }
  Step();
  Step();
  { FERRET_SCOPE("in the second window"); }
  EndAsync(scope);
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  const auto named = [&](std::string_view name) {
    const auto found = std::find_if(trace.events.begin(), trace.events.end(),
                                    [&](const FunctionEvent& event) { return event.name == name; });
    EXPECT_NE(found, trace.events.end()) << name;
    return found == trace.events.end() ? FunctionEvent() : *found;
  };
  const FunctionEvent request = named("request");
  EXPECT_TRUE(request.is_truncated);
  EXPECT_GE(request.end_ns, named("in the first window").end_ns);
  EXPECT_LT(request.end_ns, named("in the second window").start_ns);
}

TEST(ScheduledSession, DeliversTheActiveStepsOnlyUnderTheirNumbers) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("skip_first=1,wait=1,warmup=1,active=2,repeat=2"),
                           Exporters().Memory(collector).Take()).ok());
  const Schedule schedule = Scheduled("skip_first=1,wait=1,warmup=1,active=2,repeat=2").schedule;
  Names expected, steps;
  uint64_t attempts = 0;
  for (uint64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(IsRecording(), RecordsAt(schedule, step)) << step;
    attempts += IsRecording();
    { Scope scope("work " + std::to_string(step)); }
    Step();
    if (!RecordsAt(schedule, step)) continue;
    expected.push_back("work " + std::to_string(step));
    steps.push_back("ProfilerStep#" + std::to_string(step));
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  EXPECT_EQ(NamesOf(trace, false), expected);
  EXPECT_EQ(NamesOf(trace, true), steps);
  EXPECT_EQ(attempts, 4u);
  EXPECT_EQ(trace.progress.events_built, attempts);
  EXPECT_EQ(trace.progress.lost.total(), 0u) << "what a pause leaves out is not lost";
  EXPECT_TRUE(trace.complete());
}

TEST(ScheduledSession, StepsBeginWhereTheWindowDoesAndHoldTheirWork) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("wait=2,active=2"), Exporters().Memory(collector).Take()).ok());
  for (int step = 0; step < 12; ++step) {
    { FERRET_SCOPE("work"); }
    Step();
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  int held = 0;
  for (const FunctionEvent& step : trace.events) {
    if (!step.is_synthesized) continue;
    int inside = 0;
    for (const FunctionEvent& work : trace.events) {
      inside += !work.is_synthesized && work.start_ns >= step.start_ns && work.end_ns <= step.end_ns;
    }
    EXPECT_EQ(inside, 1) << step.name << " spans a pause, or starts too late";
    ++held;
  }
  EXPECT_EQ(held, 6);
}

TEST(ScheduledSession, WhatIsOpenAtTheEndOfAWindowEndsThereAndIsNobodysParentLater) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("active=1,wait=1,skip_first_wait=1"), Exporters().Memory(collector).Take()).ok());
  {
    FERRET_SCOPE("whole loop");
    const AsyncScope async = BeginAsync("request");
    Step();  // pause
    EXPECT_FALSE(IsRecording());
    Step();  // and on
    EXPECT_TRUE(IsRecording());
    { FERRET_SCOPE("later"); }
    EndAsync(async);
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  int64_t loop_end = 0, async_end = 0, later_start = 0;
  for (const FunctionEvent& event : trace.events) {
    if (event.name == "whole loop") loop_end = event.end_ns;
    if (event.name == "request") async_end = event.end_ns;
    if (event.name == "later") {
      later_start = event.start_ns;
      EXPECT_EQ(event.parent_id, 0);
    }
    EXPECT_EQ(event.is_truncated, event.name == "whole loop" || event.name == "request") << event.name;
  }
  EXPECT_EQ(trace.progress.events_built, 3u);
  EXPECT_GT(loop_end, 0);
  EXPECT_EQ(loop_end, async_end) << "both at the window's end";
  EXPECT_LT(loop_end, later_start);
}

TEST(ScheduledSession, WhatEndsInAPauseLastsUntilTheEndOfItsWindow) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("active=1,repeat=1"), Exporters().Memory(collector).Take()).ok());
  BeginAsync("never ended");
  int64_t children_end = 0;
  {
    FERRET_SCOPE("outer");
    { FERRET_SCOPE("inside"); }
    FERRET_SCOPE("inner");
    Step();  // pause
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  ASSERT_EQ(NamesOf(trace, false), (Names{"never ended", "outer", "inside", "inner"}));
  std::set<int64_t> ends;
  for (const FunctionEvent& event : trace.events) {
    if (event.is_synthesized) continue;
    if (event.name == "inside") {
      children_end = event.end_ns;
    } else {
      EXPECT_TRUE(event.is_truncated) << event.name;
      ends.insert(event.end_ns);
    }
  }
  EXPECT_EQ(ends.size(), 1u);
  EXPECT_LE(children_end, *ends.begin());
  EXPECT_EQ(Losses().total(), 0u);
}

TEST(ScheduledSession, EveryAttemptInAWindowIsDeliveredWhateverOtherThreadsDo) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("wait=1,warmup=1,active=1"), Exporters().Memory(collector).Take()).ok());
  std::atomic<bool> go_on{true};
  std::atomic<uint64_t> begun{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (go_on.load()) {
        // One that was not refused, for being in a pause or for want of memory, is to be delivered.
        const internal::ScopeEnd outer = internal::BeginNamed("outer", internal::kNoFlags);
        const internal::ScopeEnd inner = internal::BeginNamed("inner", internal::kNoFlags);
        begun += uint64_t{static_cast<bool>(outer)} + uint64_t{static_cast<bool>(inner)};
        internal::EndScope(inner);
        internal::EndScope(outer);
      }
    });
  }
  for (int step = 0; step < 60; ++step) {
    const uint64_t before = begun.load();
    // In each window some of the threads record, and some are at it when it ends.
    while (IsRecording() && begun.load() < before + 10) std::this_thread::yield();
    Step();
  }
  go_on = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  EXPECT_TRUE(trace.closed);
  EXPECT_EQ(trace.progress.events_built, begun.load());
  EXPECT_GE(begun.load(), 20u * 10u);
  int64_t beyond = 0;
  for (const FunctionEvent& event : trace.events) beyond += event.end_ns < event.start_ns;
  EXPECT_EQ(beyond, 0);
}

TEST(ScheduledSession, StopsInsideOfAWindowAndBetweenTwo) {
  for (const int steps : {0, 1, 2, 3, 4, 5}) {
    auto collector = std::make_shared<MemoryCollector>();
    ASSERT_TRUE(StartSession(Scheduled("wait=1,active=2"), Exporters().Memory(collector).Take()).ok());
    uint64_t attempts = 0;
    for (int step = 0; step < steps; ++step) {
      attempts += IsRecording();
      { FERRET_SCOPE("work"); }
      Step();
    }
    attempts += IsRecording();
    { FERRET_SCOPE("work"); }
    EXPECT_TRUE(Stop60().ok());
    EXPECT_FALSE(IsRecording());
    Step();
    Step();
    EXPECT_FALSE(IsRecording()) << "steps after the session switch nothing";
    EXPECT_EQ(collector->Take().progress.events_built, attempts) << steps;
  }
}

TEST(ScheduledSession, CountsTheStepsOfOneThreadAndTheProgramsBeforeTheOptimizers) {
  ASSERT_TRUE(StartSession(Scheduled("wait=3,active=100"),
                           Exporters().Memory(std::make_shared<MemoryCollector>()).Take()).ok());
  internal::OptimizerStepped();
  std::thread([] {
    for (int i = 0; i < 10; ++i) internal::OptimizerStepped();
  }).join();
  EXPECT_FALSE(IsRecording()) << "another thread's optimizer";
  internal::OptimizerStepped();
  EXPECT_FALSE(IsRecording());
  internal::OptimizerStepped();
  EXPECT_TRUE(IsRecording());
  Step(0);
  EXPECT_FALSE(IsRecording()) << "the program says that step 1 runs";
  for (int i = 0; i < 10; ++i) internal::OptimizerStepped();
  std::thread([] { Step(50); }).join();
  EXPECT_FALSE(IsRecording());
  Step(2);
  EXPECT_TRUE(IsRecording());
  EXPECT_TRUE(Stop60().ok());
}

std::vector<std::string>* g_heard = new std::vector<std::string>;

TEST(ScheduledSession, TellsObserversOfWindowsAndOfCounting) {
  ASSERT_TRUE(internal::AddSessionObserver([](bool on) { g_heard->push_back(on ? "on" : "off"); }));
  ASSERT_TRUE(internal::AddStepObserver([](bool on) { g_heard->push_back(on ? "count" : "rest"); }));
  ASSERT_TRUE(StartSession(Scheduled("wait=1,active=1,repeat=1"),
                           Exporters().Memory(std::make_shared<MemoryCollector>()).Take()).ok());
  EXPECT_EQ(*g_heard, (Names{"count"}));
  for (int i = 0; i < 6; ++i) Step();
  EXPECT_EQ(*g_heard, (Names{"count", "on", "off"}));
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(*g_heard, (Names{"count", "on", "off", "rest"}));
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(std::make_shared<MemoryCollector>()).Take()).ok());
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(*g_heard, (Names{"count", "on", "off", "rest", "on", "off"}));
}

TEST(ScheduledSession, ByTimeRecordsWithoutStepsAndNumbersThoseThereAre) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("time:wait=5ms,active=5ms"), Exporters().Memory(collector).Take()).ok());
  EXPECT_FALSE(IsRecording());
  uint64_t attempts = 0, steps = 0;
  std::set<uint64_t> in_window;
  // Until windows have come and gone, however slow the machine is.
  for (int windows = 0; windows < 3;) {
    const bool before = IsRecording();
    const internal::ScopeEnd end = internal::Enabled() ? internal::BeginNamed("work", internal::kNoFlags)
                                                       : internal::ScopeEnd{};
    attempts += static_cast<bool>(end);
    internal::EndScope(end);
    Step();
    ++steps;
    if (before && IsRecording()) in_window.insert(steps - 1);
    windows += before && !IsRecording();
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  EXPECT_EQ(trace.progress.events_built, attempts);
  EXPECT_GT(attempts, 0u);
  size_t numbered = 0;
  uint64_t last = 0;
  for (const std::string& name : NamesOf(trace, true)) {
    const uint64_t number = std::stoull(name.substr(name.find('#') + 1));
    EXPECT_LT(number, steps);
    EXPECT_GT(number + 1, last) << "in order";
    last = number + 1;
    numbered += in_window.count(number);
  }
  EXPECT_GT(numbered, 0u);
}

TEST(ScheduledSession, AForkedChildHasNeitherWindowsNorSteps) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(Scheduled("wait=1,active=2"), Exporters().Memory(collector).Take()).ok());
  Step();
  ASSERT_TRUE(IsRecording());
  { FERRET_SCOPE("before"); }
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) {
      { FERRET_SCOPE("child"); }
      Step();
      if (IsRecording()) _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  { FERRET_SCOPE("after"); }
  Step();
  EXPECT_TRUE(IsRecording()) << "the child's steps are not the parent's";
  Step();
  EXPECT_FALSE(IsRecording());
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(NamesOf(collector->Take(), false), (Names{"before", "after"}));
}

TEST(ScheduledSession, StartsFromCAndRefusesWhatCannotBe) {
  ferret_schedule schedule = {};
  char error[200] = "";
  EXPECT_NE(ferret_start_scheduled("memory", &schedule, error, sizeof(error)), 0);
  EXPECT_NE(std::string(error).find("active"), std::string::npos) << error;
  EXPECT_NE(ferret_start_scheduled("memory", nullptr, error, sizeof(error)), 0);
  schedule.wait = 1;
  schedule.active = 1;
  ASSERT_EQ(ferret_start_scheduled("memory", &schedule, error, sizeof(error)), 0) << error;
  EXPECT_EQ(ferret_is_recording(), 0);
  ferret_step(FERRET_NEXT_STEP);
  EXPECT_EQ(ferret_is_recording(), 1);
  ferret_step(FERRET_NEXT_STEP);
  EXPECT_EQ(ferret_is_recording(), 0);
  EXPECT_EQ(ferret_stop(60'000, nullptr, 0), 0);
  schedule.by_time = 1;
  schedule.wait = 0;
  schedule.active = 3'600'000;
  ASSERT_EQ(ferret_start_scheduled("memory", &schedule, error, sizeof(error)), 0) << error;
  EXPECT_EQ(ferret_is_recording(), 1);
  EXPECT_EQ(ferret_stop(60'000, nullptr, 0), 0);
}

}  // namespace
}  // namespace ferret
