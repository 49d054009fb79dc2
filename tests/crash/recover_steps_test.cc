// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps that were not exported when the process was killed.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ferret/scope.h"
#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

class RecoverSteps : public CrashSessionTest {
 protected:
  static void RecordStep(int scopes) {
    for (int i = 0; i < scopes; ++i) {
      FERRET_SCOPE("work");
    }
    Step();
  }
  std::vector<Recovered::Event> Steps(bool all = false) const {
    // A file that is read while the drain gives chunks back is not as a kill would leave it.
    auto contents = Contents();
    while (!contents->counts_steps()) contents = Contents();
    std::vector<Recovered::Event> steps;
    const Recovered recovered =
        ReplayOf(contents.get(), all ? std::nullopt : std::optional<uint64_t>(Settled(*contents)));
    for (const Recovered::Event& event : recovered.events) {
      if (event.name == "ProfilerStep*") steps.push_back(event);
    }
    return steps;
  }
  // As the live ones: contiguous, and with what they did not spend in scopes.
  void ExpectAfter(const std::vector<Recovered::Event>& steps, int64_t number, int64_t boundary_ns) {
    for (const Recovered::Event& step : steps) {
      EXPECT_EQ(step.trace_name, "ProfilerStep#" + std::to_string(number++));
      EXPECT_EQ(step.start_ns, boundary_ns);
      EXPECT_GE(step.end_ns, step.start_ns);
      EXPECT_LE(step.self_ns, step.end_ns - step.start_ns);
      EXPECT_GE(step.self_ns, 0);
      boundary_ns = step.end_ns;
    }
  }
  int64_t LastExportedEnd() {
    int64_t end_ns = 0;
    for (const auto& event : collector_->Take().events) {
      if (event.name == "ProfilerStep*") end_ns = std::max(end_ns, event.end_ns);
    }
    return end_ns;
  }
};

TEST_F(RecoverSteps, GoOnFromTheExportedOnes) {
  Start();
  for (int i = 0; i < 3; ++i) RecordStep(10);
  Settle();
  const int64_t boundary_ns = LastExportedEnd();
  gate_.Set(true);
  for (int i = 0; i < 2; ++i) RecordStep(10);
  const auto steps = Steps();
  ASSERT_EQ(steps.size(), 2u);
  ExpectAfter(steps, 3, boundary_ns);
  EXPECT_EQ(Steps(/*all=*/true).size(), 5u);
}

TEST_F(RecoverSteps, GoOnAlsoWhenChunksAreGone) {
  Start();
  for (int i = 0; i < 20; ++i) {
    RecordStep(1500);  // 48,000 bytes: most of a chunk
    Settle();
  }
  const int64_t boundary_ns = LastExportedEnd();
  gate_.Set(true);
  for (int i = 0; i < 3; ++i) RecordStep(1500);
  const auto steps = Steps();
  ASSERT_EQ(steps.size(), 3u);
  ExpectAfter(steps, 20, boundary_ns);
}

TEST_F(RecoverSteps, HaveTheTimeOfTheirChildrenAlsoWhenThoseAreGone) {
  Start();
  RecordStep(10);
  Settle();
  collector_->Take();
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 1500; ++j) {
      FERRET_SCOPE("work");
    }
    Settle();
  }
  int64_t children_ns = 0;
  for (const auto& event : collector_->Take().events) children_ns += event.end_ns - event.start_ns;
  gate_.Set(true);
  Step();
  const auto steps = Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].trace_name, "ProfilerStep#1");
  EXPECT_EQ(steps[0].self_ns, steps[0].end_ns - steps[0].start_ns - children_ns);
}

TEST_F(RecoverSteps, AreThoseOfTheThreadThatHadThem) {
  Start();
  std::thread([] {
    for (int i = 0; i < 5; ++i) {
      FERRET_SCOPE("elsewhere");
    }
  }).join();
  for (int i = 0; i < 4; ++i) {
    RecordStep(3000);
    Settle();
  }
  gate_.Set(true);
  std::thread([] { Step(); }).join();  // another thread's do not count
  RecordStep(1);
  const auto steps = Steps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].trace_name, "ProfilerStep#4");
}

}  // namespace
}  // namespace ferret
