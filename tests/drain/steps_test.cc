// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Training steps: ProfilerStep slices that nest with everything on their thread, and none is lost.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/drain/event_tree.h"

namespace ferret::internal {
namespace {

// (name, start, end) of the steps, in order.
using Steps = std::vector<std::tuple<std::string, int64_t, int64_t>>;

Steps StepsOf(const DrainHarness& harness) {
  Steps steps;
  for (const FunctionEvent& event : harness.sink.Steps()) {
    EXPECT_TRUE(event.is_user_annotation);
    EXPECT_EQ(event.scope, RecordScope::kUserScope);
    EXPECT_EQ(event.name, "ProfilerStep*");
    steps.emplace_back(event.trace_name(), event.start_ns, event.end_ns);
  }
  ExpectTree(harness.sink);
  return steps;
}

TEST(Steps, RunFromOptimizerToOptimizer) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(10, 15, "load");
  for (uint64_t step = 0; step < 3; ++step) {
    const uint64_t at = 20 + step * 100;
    thread.Scope(at, at + 30, "forward");
    thread.Scope(at + 40, at + 70, "backward");
    thread.Scope(at + 70, at + 80, "Optimizer.step#SGD.step", kEndsStep);
  }
  harness.Finish(1000);
  EXPECT_EQ(StepsOf(harness),
            (Steps{{"ProfilerStep#0", 10, 100}, {"ProfilerStep#1", 100, 200}, {"ProfilerStep#2", 200, 300}}));
  EXPECT_EQ(harness.sink.Steps()[1].self_ns, 30);
  EXPECT_EQ(harness.sink.Steps()[1].parent_id, 0);
  // Nobody attempted them.
  EXPECT_EQ(harness.sink.count, 10u);
  EXPECT_EQ(harness.builder().built(), 10u);
}

TEST(Steps, LieInsideOfTheOneAnnotationAroundTheWholeLoop) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(5, 10, "setup");
  const uint32_t fit = thread.Begin(20, "fit", kUserAnnotation);
  thread.Scope(30, 50, "optimizer", kEndsStep);
  harness.Pass(60);
  thread.Scope(60, 90, "optimizer", kEndsStep);
  thread.End(100, fit);
  harness.Finish(200);
  EXPECT_EQ(StepsOf(harness), (Steps{{"ProfilerStep#0", 20, 50}, {"ProfilerStep#1", 50, 90}}));
  for (const FunctionEvent& step : harness.sink.Steps()) {
    EXPECT_EQ(step.parent_id, harness.sink.Named("fit").id);
    EXPECT_EQ(step.self_ns, 10);
  }
  // The steps are views of the same time: what they lie in has the self time that it would have without them.
  EXPECT_EQ(harness.sink.Named("fit").self_ns, 30);
}

TEST(Steps, StartAfreshInEveryEpochThatIsAnAnnotation) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  for (uint64_t epoch : {100, 200}) {
    const uint32_t scope = thread.Begin(epoch, "epoch");
    thread.Scope(epoch + 10, epoch + 20, "optimizer", kEndsStep);
    thread.Scope(epoch + 30, epoch + 40, "optimizer", kEndsStep);
    thread.Scope(epoch + 50, epoch + 60, "validation");
    thread.End(epoch + 70, scope);
  }
  harness.Finish(1000);
  EXPECT_EQ(StepsOf(harness), (Steps{{"ProfilerStep#0", 100, 120},
                                     {"ProfilerStep#1", 120, 140},
                                     {"ProfilerStep#2", 200, 220},
                                     {"ProfilerStep#3", 220, 240}}));
}

TEST(Steps, DoNotReachOutOfTheScopesThatTheOptimizerStandsIn) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  for (uint64_t at : {100, 200}) {
    thread.Scope(at, at + 30, "forward");
    const uint32_t update = thread.Begin(at + 40, "update");
    const uint32_t inner = thread.Begin(at + 50, "clip and step");
    thread.Scope(at + 60, at + 70, "optimizer", kEndsStep);
    thread.End(at + 75, inner);
    thread.End(at + 80, update);
  }
  harness.Finish(1000);
  EXPECT_EQ(StepsOf(harness), (Steps{{"ProfilerStep#0", 150, 170}, {"ProfilerStep#1", 250, 270}}));
}

TEST(Steps, AreCutAtEachOfSeveralOptimizersButOnlyOnceForNestedOnes) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(10, 20, "generator", kEndsStep);
  thread.Scope(30, 40, "discriminator", kEndsStep);
  const uint32_t wrapper = thread.Begin(50, "sharded optimizer", kEndsStep);
  thread.Scope(55, 60, "inner optimizer", kEndsStep);
  thread.End(70, wrapper);
  harness.Finish(100);
  EXPECT_EQ(StepsOf(harness),
            (Steps{{"ProfilerStep#0", 10, 20}, {"ProfilerStep#1", 20, 40}, {"ProfilerStep#2", 40, 70}}));
}

TEST(Steps, AreCountedOnTheFirstThreadThatHasOne) {
  DrainHarness harness(2);
  harness.thread(1).Scope(10, 20, "optimizer", kEndsStep);
  harness.Pass(30);
  harness.thread(2).Scope(40, 50, "optimizer", kEndsStep);
  harness.Pass(60);
  harness.thread(1).Scope(70, 80, "optimizer", kEndsStep);
  harness.Finish(100);
  EXPECT_EQ(StepsOf(harness), (Steps{{"ProfilerStep#0", 10, 20}, {"ProfilerStep#1", 20, 80}}));
  for (const FunctionEvent& step : harness.sink.Steps()) EXPECT_EQ(step.thread, 1u);
}

TEST(Steps, AreNotSeenAtAnOptimizerThatNeverEnded) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t train = thread.Begin(10, "train");
  thread.Begin(20, "optimizer", kEndsStep);
  thread.End(30, train);
  harness.Finish(100);
  EXPECT_EQ(StepsOf(harness), Steps{});
}

TEST(Steps, OfTheProgramReplaceTheOptimizers) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(10, 20, "optimizer", kEndsStep);
  thread.Step(30);
  thread.Scope(40, 50, "optimizer", kEndsStep);
  thread.Step(60);
  thread.Step(70, 500);
  thread.Scope(72, 74, "optimizer", kEndsStep);
  thread.Step(80);
  thread.Step(80);
  harness.Finish(100);
  EXPECT_EQ(StepsOf(harness), (Steps{{"ProfilerStep#0", 10, 20},
                                     {"ProfilerStep#1", 20, 30},
                                     {"ProfilerStep#2", 30, 60},
                                     {"ProfilerStep#500", 60, 70},
                                     {"ProfilerStep#501", 70, 80},
                                     {"ProfilerStep#502", 80, 80}}));
}

TEST(Steps, OfTheProgramAreCountedOnItsThreadThoughOptimizersWereSeenOnAnother) {
  DrainHarness harness(2);
  ThreadWriter& optimizer = harness.thread(1);
  const uint32_t outer = optimizer.Begin(10, "outer");
  optimizer.Scope(20, 200, "optimizer", kEndsStep);
  optimizer.End(500, outer);
  harness.Pass(501);
  ThreadWriter& program = harness.thread(2);
  program.Scope(510, 530, "a");
  program.Step(600);
  optimizer.Scope(610, 700, "optimizer", kEndsStep);
  program.Scope(620, 650, "b");
  program.Step(700);
  harness.Finish(1000);
  EXPECT_EQ(StepsOf(harness),
            (Steps{{"ProfilerStep#0", 10, 200}, {"ProfilerStep#1", 510, 600}, {"ProfilerStep#2", 600, 700}}));
  EXPECT_EQ(harness.sink.Steps()[1].self_ns, 70);
}

TEST(Steps, OfAProgramThatRecordsNothingElseAreAllThere) {
  DrainHarness harness(1);
  for (uint64_t at : {10, 20, 30}) harness.thread(1).Step(at);
  harness.Finish(100);
  EXPECT_EQ(StepsOf(harness),
            (Steps{{"ProfilerStep#0", 10, 10}, {"ProfilerStep#1", 10, 20}, {"ProfilerStep#2", 20, 30}}));
}

TEST(Steps, ThatTheProgramAnnotatesItselfAreNotMadeASecondTime) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  for (uint64_t at : {100, 200}) {
    const uint32_t step = thread.Begin(at, "ProfilerStep#" + std::to_string(at), kUserAnnotation | kMarksStep);
    thread.Scope(at + 10, at + 20, "optimizer", kEndsStep);
    thread.End(at + 50, step);
  }
  harness.Finish(1000);
  EXPECT_EQ(StepsOf(harness), Steps{});
  EXPECT_EQ(harness.sink.events.size(), 4u);
}

// A step starts as early as it can without overlapping anything in part, and not before the one before it has ended.
void ExpectEarliestStarts(const CollectingSink& sink) {
  int64_t boundary = INT64_MAX;
  for (const FunctionEvent& event : sink.events) boundary = std::min(boundary, event.start_ns);
  for (const FunctionEvent& step : sink.Steps()) {
    // Nor does it reach out of the scope that it ends in.
    const FunctionEvent* const parent = sink.ById(step.parent_id);
    const int64_t earliest = parent == nullptr ? boundary : std::max(boundary, parent->start_ns);
    for (int64_t start = earliest; start < step.start_ns; ++start) {
      FunctionEvent longer = step;
      longer.start_ns = start;
      bool nests = true;
      for (const FunctionEvent& event : sink.events) {
        if (!event.is_synthesized) nests = nests && Nests(event, longer);
      }
      ASSERT_FALSE(nests) << step.name << " could start at " << start << ", not at " << step.start_ns;
    }
    boundary = step.end_ns;
  }
}

TEST(Steps, StartAsEarlyAsTheyCanInAnyNestingOfScopesAndAreAllThere) {
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    DrainHarness harness(1, {}, 300);
    ThreadWriter& thread = harness.thread(1);
    const bool program_steps = seed % 3 == 0;
    std::vector<std::pair<uint32_t, bool>> open;  // handle, is an optimizer
    size_t boundaries = 0;
    uint64_t now = 1;
    for (int i = 0; i < 60; ++i) {
      // No two at one tick: what is inside of what is then plain from the times.
      now += 1 + random() % 2;
      const uint32_t choice = random() % 100;
      if (choice < 5 && program_steps) {
        thread.Step(now);
        ++boundaries;
      } else if (choice < 50) {
        const bool optimizer = !program_steps && random() % 4 == 0;
        open.emplace_back(thread.Begin(now, 1 + static_cast<uint32_t>(i), optimizer ? kEndsStep : kNoFlags), optimizer);
      } else if (!open.empty()) {
        const bool optimizer = open.back().second;
        thread.End(now, open.back().first);
        open.pop_back();
        boundaries += optimizer && std::none_of(open.begin(), open.end(), [](const auto& s) { return s.second; });
      }
      if (random() % 10 == 0) thread.CutChunk(random() % 2 == 0);
      if (random() % 10 == 0) harness.Pass(now);
    }
    harness.Finish(now + 1);
    ASSERT_EQ(StepsOf(harness).size(), boundaries);
    for (size_t i = 0; i < boundaries; ++i) {
      ASSERT_EQ(harness.sink.Steps()[i].trace_name(), "ProfilerStep#" + std::to_string(i));
    }
    ExpectEarliestStarts(harness.sink);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ferret::internal
