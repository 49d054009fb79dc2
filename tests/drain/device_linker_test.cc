// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What devices did, given to the scopes that had it done, whenever it comes to be known.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ferret/internal/detail_format.h"
#include "tests/drain/drain_harness.h"

namespace ferret::internal {
namespace {

constexpr PairId kA = MakePairId(1, 1);
constexpr PairId kB = MakePairId(1, 2);
constexpr PairId kC = MakePairId(1, 3);

// The pairs that the drain hands to the device thread, by pair.
std::map<PairId, SubmittedPair> TakeSubmitted(DrainHarness& harness) {
  std::map<PairId, SubmittedPair> pairs;
  for (const SubmittedPair& pair : *harness.device().submitted()) pairs[pair.pair] = pair;
  harness.device().submitted()->clear();
  return pairs;
}

PairResult Timed(const SubmittedPair& pair, int64_t start_ns, int64_t end_ns, int32_t stream = 7) {
  PairResult result;
  result.token = pair.token;
  result.timed = true;
  result.start_ns = start_ns;
  result.end_ns = end_ns;
  result.error_ns = 3;
  result.stream = stream;
  result.shown_domain = 5;
  return result;
}

PairResult Lost(const SubmittedPair& pair, DeviceLoss reason = DeviceLoss::kQueryFailed) {
  PairResult result;
  result.token = pair.token;
  result.reason = reason;
  return result;
}

void Deliver(DrainHarness& harness, std::vector<PairResult> results) {
  DeviceOutput output;
  output.results = std::move(results);
  harness.device().OnOutput(output);
}

// (self, total) by name.
using Shares = std::map<std::string, std::pair<int64_t, int64_t>>;
Shares SharesOf(const DrainHarness& harness) {
  Shares shares;
  for (const DeviceTimeShare& share : harness.sink.device_times) {
    auto& sum = shares[std::string(share.name)];
    sum.first += share.self_ns;
    sum.second += share.total_ns;
  }
  return shares;
}

std::vector<FunctionEvent> DeviceEvents(const DrainHarness& harness) {
  std::vector<FunctionEvent> events;
  for (const FunctionEvent& event : harness.sink.events) {
    if (event.device_type != DeviceType::kCpu) events.push_back(event);
  }
  return events;
}

TEST(DeviceLinker, ALateResultBecomesAnEventOfItsOwnAndAShareOfItsScope) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t forward = thread.Begin(10, "forward");
  const uint32_t gemm = thread.Begin(20, "gemm");
  thread.DeviceBegin(21, kA);
  thread.DeviceEnd(29, kA, 3);
  thread.End(30, gemm);
  thread.End(40, forward);
  harness.Pass(50);
  // The scopes do not wait.
  ASSERT_EQ(harness.sink.events.size(), 2u);
  EXPECT_FALSE(harness.sink.Named("gemm").is_legacy);
  const auto pairs = TakeSubmitted(harness);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs.at(kA).begin_ns, 21);
  EXPECT_EQ(pairs.at(kA).end_ns, 29);
  EXPECT_EQ(pairs.at(kA).place, 3u);

  DeviceOutput output;
  output.results = {Timed(pairs.at(kA), 100, 160)};
  output.devices.resize(1);
  output.streams.resize(1);
  harness.device().OnOutput(output);
  harness.Finish(200);
  const std::vector<FunctionEvent> events = DeviceEvents(harness);
  ASSERT_EQ(events.size(), 1u);
  const FunctionEvent& event = events[0];
  EXPECT_EQ(event.name, "gemm");
  EXPECT_EQ(event.device_type, DeviceType::kCuda);
  EXPECT_EQ(event.activity_type, ActivityType::kKernel);
  EXPECT_EQ(event.device_resource_id, 7);
  EXPECT_EQ(event.start_ns, 100);
  EXPECT_EQ(event.end_ns, 160);
  const int64_t scope_id = [&] {
    for (const FunctionEvent& other : harness.sink.events) {
      if (other.name == "gemm" && other.device_type == DeviceType::kCpu) return other.id;
    }
    return int64_t{0};
  }();
  EXPECT_EQ(event.linked_correlation_id(), scope_id);
  ASSERT_NE(event.details->launch, nullptr);
  EXPECT_EQ(event.details->launch->scope_id, scope_id);
  EXPECT_EQ(event.details->launch->correlation, 1);
  EXPECT_EQ(event.details->launch->start_ns, 21);
  EXPECT_EQ(event.details->launch->end_ns, 29);
  EXPECT_EQ(event.details->launch->clock_error_ns, 3);
  EXPECT_EQ(event.details->launch->context, 5);
  EXPECT_EQ(SharesOf(harness), (Shares{{"gemm", {60, 60}}, {"forward", {0, 60}}}));
  EXPECT_EQ(harness.sink.devices.size(), 1u);
  EXPECT_EQ(harness.sink.streams.size(), 1u);
  // Nobody attempted the event on the device.
  EXPECT_EQ(harness.sink.count, 2u);
  EXPECT_EQ(harness.builder().built(), 2u);
}

// outer [ inner [] inner [] ]: the outer one's own pair says what it took.
void Nest(ThreadWriter& thread) {
  const uint32_t outer = thread.Begin(10, "outer");
  thread.DeviceBegin(11, kA);
  const uint32_t plain = thread.Begin(12, "plain");
  for (PairId pair : {kB, kC}) {
    const uint32_t inner = thread.Begin(20, "inner");
    thread.DeviceBegin(21, pair);
    thread.DeviceEnd(22, pair);
    thread.End(23, inner);
  }
  thread.End(30, plain);
  thread.DeviceEnd(31, kA);
  thread.End(32, outer);
}

const Shares kNested = {{"outer", {100 - 30 - 20, 100}}, {"plain", {0, 50}}, {"inner", {50, 50}}};

TEST(DeviceLinker, ATimedScopeInsideOfAnotherOneIsNotCountedTwice) {
  for (const bool outer_first : {false, true}) {
    DrainHarness harness(1);
    Nest(harness.thread(1));
    harness.Pass(50);
    const auto pairs = TakeSubmitted(harness);
    const PairResult outer = Timed(pairs.at(kA), 100, 200);
    const PairResult first = Timed(pairs.at(kB), 110, 140);
    const PairResult second = Timed(pairs.at(kC), 150, 170);
    if (outer_first) Deliver(harness, {outer});
    Deliver(harness, {second});
    harness.Pass(60);
    Deliver(harness, {first});
    if (!outer_first) Deliver(harness, {outer});
    harness.Finish(100);
    EXPECT_EQ(SharesOf(harness), kNested);
    int legacy = 0;
    for (const FunctionEvent& event : harness.sink.events) {
      EXPECT_EQ(event.is_legacy, event.name == "outer") << event.name;
      legacy += event.is_legacy;
      if (event.name != "outer" || event.device_type == DeviceType::kCpu) continue;
      EXPECT_EQ(event.activity_type, ActivityType::kGpuUserAnnotation);
      EXPECT_TRUE(event.is_user_annotation);
    }
    EXPECT_EQ(legacy, 2);
  }
}

TEST(DeviceLinker, AnOuterScopeWithoutATimeHasThatOfTheOnesInside) {
  // Fails before, between or after the inner ones; or is not known at the end.
  for (int when = 0; when < 4; ++when) {
    DrainHarness harness(1);
    Nest(harness.thread(1));
    harness.Pass(50);
    const auto pairs = TakeSubmitted(harness);
    if (when == 0) Deliver(harness, {Lost(pairs.at(kA))});
    Deliver(harness, {Timed(pairs.at(kB), 110, 140)});
    if (when == 1) Deliver(harness, {Lost(pairs.at(kA))});
    Deliver(harness, {Timed(pairs.at(kC), 150, 170)});
    if (when == 2) Deliver(harness, {Lost(pairs.at(kA))});
    harness.Finish(100);
    EXPECT_EQ(SharesOf(harness), (Shares{{"outer", {0, 50}}, {"plain", {0, 50}}, {"inner", {50, 50}}})) << when;
    EXPECT_EQ(DeviceEvents(harness).size(), 2u);
  }
}

TEST(DeviceLinker, AnInnerScopeWithoutATimeLeavesItToTheOuterOne) {
  DrainHarness harness(1);
  Nest(harness.thread(1));
  harness.Pass(50);
  const auto pairs = TakeSubmitted(harness);
  Deliver(harness, {Lost(pairs.at(kB)), Timed(pairs.at(kC), 150, 170), Timed(pairs.at(kA), 100, 200)});
  harness.Finish(100);
  EXPECT_EQ(SharesOf(harness), (Shares{{"outer", {80, 100}}, {"plain", {0, 20}}, {"inner", {20, 20}}}));
}

TEST(DeviceLinker, AScopeWhoseSecondMarkFailedOrWasLostIsNotTimed) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(10, "outer");
  thread.DeviceBegin(11, kA);
  const uint32_t refused = thread.Begin(12, "refused");
  thread.DeviceBegin(13, kB);
  thread.DeviceEnd(14, kB, 0, kDevicePairLost);
  thread.End(15, refused);
  const uint32_t inner = thread.Begin(16, "inner");
  thread.DeviceBegin(17, kC);
  thread.DeviceEnd(18, kC);
  thread.End(19, inner);
  thread.End(20, outer);  // without its second mark
  harness.Pass(30);
  const auto pairs = TakeSubmitted(harness);
  ASSERT_EQ(pairs.size(), 1u);
  Deliver(harness, {Timed(pairs.at(kC), 100, 110)});
  harness.Finish(200);
  EXPECT_EQ(SharesOf(harness), (Shares{{"outer", {0, 10}}, {"inner", {10, 10}}}));
}

// Its pair has no second mark. It was given up before the end, and may be another scope's at once.
TEST(DeviceLinker, AScopeThatAnotherThreadEndsHasTheTimeOfTheOnesInside) {
  DrainHarness harness(2);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t moves = thread.Begin(10, "moves");
  thread.DeviceBegin(11, kA);
  const uint32_t inner = thread.Begin(20, "inner");
  thread.DeviceBegin(21, kB);
  thread.DeviceEnd(29, kB);
  thread.End(30, inner);
  const uint32_t again = thread.Begin(32, "again");
  thread.DeviceBegin(33, kA);
  thread.DeviceEnd(37, kA);
  thread.End(38, again);
  harness.thread(2).RemoteEnd(40, 1, moves);
  harness.Pass(50);
  const auto pairs = TakeSubmitted(harness);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs.at(kA).begin_ns, 33);
  Deliver(harness, {Timed(pairs.at(kB), 100, 150), Timed(pairs.at(kA), 200, 230)});
  harness.Finish(300);
  EXPECT_EQ(DeviceEvents(harness).size(), 2u);
  EXPECT_EQ(SharesOf(harness), (Shares{{"inner", {50, 50}}, {"again", {30, 30}}, {"moves", {0, 80}}}));
}

TEST(DeviceLinker, AResultOfNobodyIsIgnored) {
  DrainHarness harness(1);
  PairResult result;
  result.timed = true;
  result.token = 77;
  Deliver(harness, {result});
  harness.Finish(10);
  EXPECT_TRUE(harness.sink.events.empty());
}

TEST(DeviceLinker, APairWhoseScopeIsNotKnownGoesBackAllTheSame) {
  DrainHarness harness(1);
  harness.thread(1).DeviceEnd(10, kA, 2);
  harness.Pass(20);
  const auto pairs = TakeSubmitted(harness);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs.at(kA).token, 0u);
  Deliver(harness, {Timed(pairs.at(kA), 100, 110)});
  harness.Finish(30);
  EXPECT_TRUE(DeviceEvents(harness).empty());
}

TEST(DeviceLinker, AnOuterIntervalCoversTheInnerOnesOfItsStream) {
  DrainHarness harness(1);
  Nest(harness.thread(1));
  harness.Pass(50);
  const auto pairs = TakeSubmitted(harness);
  // By the error of the clocks the inner ones stick out; the one on another stream has nothing to do with it.
  Deliver(harness, {Timed(pairs.at(kB), 98, 140), Timed(pairs.at(kC), 150, 230, 8), Timed(pairs.at(kA), 100, 200)});
  harness.Finish(100);
  for (const FunctionEvent& event : DeviceEvents(harness)) {
    if (event.name != "outer") continue;
    EXPECT_EQ(event.start_ns, 98);
    EXPECT_EQ(event.end_ns, 200);
  }
  EXPECT_EQ(SharesOf(harness).at("outer").second, 102);
}

TEST(DeviceLinker, AnAnnotationAroundTimedScopesGetsAnEventForEachStream) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t phase = thread.Begin(10, "phase", kUserAnnotation);
  for (PairId pair : {kA, kB, kC}) {
    const uint32_t scope = thread.Begin(20, "gemm");
    thread.DeviceBegin(21, pair);
    thread.DeviceEnd(22, pair);
    thread.End(23, scope);
  }
  harness.Pass(25);
  const auto pairs = TakeSubmitted(harness);
  Deliver(harness, {Timed(pairs.at(kA), 100, 120), Timed(pairs.at(kB), 105, 130, 9)});
  thread.End(30, phase);
  harness.Pass(40);
  EXPECT_EQ(DeviceEvents(harness).size(), 2u) << "one is not known yet";
  Deliver(harness, {Timed(pairs.at(kC), 150, 180)});
  harness.Finish(200);
  std::map<int32_t, std::pair<int64_t, int64_t>> ranges;
  for (const FunctionEvent& event : DeviceEvents(harness)) {
    if (!event.is_synthesized) continue;
    EXPECT_EQ(event.name, "phase");
    EXPECT_EQ(event.activity_type, ActivityType::kGpuUserAnnotation);
    EXPECT_EQ(event.linked_correlation_id(), harness.sink.events[0].parent_id);
    EXPECT_EQ(event.details->launch, nullptr);
    ranges[event.device_resource_id] = {event.start_ns, event.end_ns};
  }
  EXPECT_EQ(ranges, (std::map<int32_t, std::pair<int64_t, int64_t>>{{7, {100, 180}}, {9, {105, 130}}}));
}

TEST(DeviceLinker, AnAnnotationThatIsTimedItselfIsOneEventOnTheDevice) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t phase = thread.Begin(10, "phase", kUserAnnotation);
  thread.DeviceBegin(11, kA);
  thread.Scope(12, 13, "launch");
  thread.DeviceEnd(14, kA);
  thread.End(15, phase);
  harness.Pass(20);
  Deliver(harness, {Timed(TakeSubmitted(harness).at(kA), 100, 120)});
  harness.Finish(30);
  const std::vector<FunctionEvent> events = DeviceEvents(harness);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].activity_type, ActivityType::kGpuUserAnnotation);
  EXPECT_TRUE(events[0].is_legacy);
  EXPECT_FALSE(events[0].is_synthesized);
  EXPECT_EQ(SharesOf(harness), (Shares{{"phase", {20, 20}}}));
}

TEST(DeviceLinker, AStepHasTheDeviceTimeOfItsScopesWhetherItIsKnownBeforeOrAfterItsEnd) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(5, 10, "optimizer", kEndsStep);
  uint64_t at = 20;
  for (PairId pair : {kA, kB}) {
    const uint32_t scope = thread.Begin(at, "gemm");
    thread.DeviceBegin(at + 1, pair);
    thread.DeviceEnd(at + 2, pair);
    thread.End(at + 3, scope);
    at += 10;
  }
  harness.Pass(45);
  const auto pairs = TakeSubmitted(harness);
  Deliver(harness, {Timed(pairs.at(kA), 100, 130)});
  thread.Scope(50, 60, "optimizer", kEndsStep);
  // Of the next step, which is not over.
  const uint32_t scope = thread.Begin(70, "gemm");
  thread.DeviceBegin(71, kC);
  thread.DeviceEnd(72, kC);
  thread.End(73, scope);
  harness.Pass(80);
  Deliver(harness, {Timed(pairs.at(kB), 140, 150), Timed(TakeSubmitted(harness).at(kC), 200, 201)});
  harness.Finish(90);
  EXPECT_EQ(SharesOf(harness), (Shares{{"gemm", {41, 41}}, {"ProfilerStep*", {0, 40}}}));
}

TEST(DeviceLinker, AStepOfAnyNumberOfScopesHasTheTimeOfAll) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(5, 10, "optimizer", kEndsStep);
  uint64_t at = 20;
  for (int i = 0; i < 40'000; ++i, at += 4) {
    const PairId pair = MakePairId(1, static_cast<uint32_t>(i % 4096));
    const uint32_t scope = thread.Begin(at, "gemm");
    thread.DeviceBegin(at + 1, pair);
    thread.DeviceEnd(at + 2, pair);
    thread.End(at + 3, scope);
    if (i % 1000 != 999) continue;
    harness.Pass(at + 4);
    std::vector<PairResult> results;
    for (const SubmittedPair& submitted : *harness.device().submitted()) results.push_back(Timed(submitted, 100, 110));
    harness.device().submitted()->clear();
    Deliver(harness, results);
  }
  thread.Scope(at, at + 1, "optimizer", kEndsStep);
  harness.Finish(at + 10);
  EXPECT_EQ(SharesOf(harness), (Shares{{"gemm", {400'000, 400'000}}, {"ProfilerStep*", {0, 400'000}}}));
}

TEST(DeviceLinker, CountsWhatBecameOfEachScopeWhoseFirstMarkItHasRead) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  Nest(thread);
  PairId pair = kC;
  const auto timed = [&](auto end) {
    const uint32_t scope = thread.Begin(40, "more");
    thread.DeviceBegin(41, ++pair);
    end();
    thread.End(43, scope);
  };
  timed([&] { thread.DeviceEnd(42, pair, 0, kDevicePairLost + static_cast<uint64_t>(DeviceLoss::kCapture)); });
  timed([&] {});  // its second mark found no room
  timed([&] {     // a second pair in one scope
    thread.DeviceBegin(42, pair + 100);
    thread.DeviceEnd(42, pair + 100);
    thread.DeviceEnd(42, pair);
  });
  thread.DeviceBegin(44, 99);  // of no scope
  thread.Begin(45, "open at the end");
  thread.DeviceBegin(46, 100);
  harness.Pass(50);
  const auto pairs = TakeSubmitted(harness);
  Deliver(harness, {Timed(pairs.at(kA), 100, 200), Lost(pairs.at(kB), DeviceLoss::kTimeout),
                    Lost(pairs.at(kC), DeviceLoss::kAbandonedAtStop)});
  harness.Finish(100);
  const DeviceCounts counts = harness.device().counts();
  EXPECT_EQ(counts.timed, 1u);
  EXPECT_EQ(counts[DeviceLoss::kTimeout], 1u);
  EXPECT_EQ(counts[DeviceLoss::kCapture], 1u);
  EXPECT_EQ(counts[DeviceLoss::kScopeLost], 3u);
  // Given up by the device thread; without a result at the end; open at the end.
  EXPECT_EQ(counts[DeviceLoss::kAbandonedAtStop], 3u);
  EXPECT_EQ(counts.total_lost(), 8u);
}

TEST(DeviceLinker, BytesWithoutAGridMakeACopy) {
  const auto activity = [](bool grid, bool bytes) {
    char buffer[100];
    DetailWriter out(buffer, sizeof(buffer));
    out.BeginItem(DetailKind::kMetadata);
    if (bytes) {
      out.Text("bytes");
      out.Tag(ValueTag::kInt);
      out.Signed(4096);
    }
    if (grid) {
      out.Text("grid");
      out.Tag(ValueTag::kIntList);
      out.Varint(1);
      out.Signed(7);
    }
    out.EndItem();
    DrainHarness harness(1);
    ThreadWriter& thread = harness.thread(1);
    const uint32_t scope = thread.Begin(10, "work");
    thread.DeviceBegin(12, kA);
    thread.Details(13, out.bytes());
    thread.DeviceEnd(14, kA);
    thread.End(15, scope);
    harness.Pass(30);
    Deliver(harness, {Timed(TakeSubmitted(harness).at(kA), 100, 120)});
    harness.Finish(40);
    return DeviceEvents(harness).at(0).activity_type;
  };
  EXPECT_EQ(activity(false, true), ActivityType::kGpuMemcpy);
  EXPECT_EQ(activity(true, true), ActivityType::kKernel);
  EXPECT_EQ(activity(true, false), ActivityType::kKernel);
  EXPECT_EQ(activity(false, false), ActivityType::kKernel);
}

TEST(DeviceLinker, KeepsDetailsNamesOutsideOfTheTableAndNumbersOfSteps) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t step = thread.Begin(5, "ProfilerStep#12", kUserAnnotation);
  const uint32_t scope = thread.Begin(10, "gemm");
  thread.Details(11, "details");
  thread.DeviceBegin(12, kA);
  thread.DeviceEnd(13, kA);
  thread.End(14, scope);
  thread.End(20, step);
  harness.Pass(30);
  Deliver(harness, {Timed(TakeSubmitted(harness).at(kA), 100, 120)});
  harness.Finish(40);
  const std::vector<FunctionEvent> events = DeviceEvents(harness);
  ASSERT_EQ(events.size(), 2u);
  for (const FunctionEvent& event : events) {
    if (event.is_synthesized) {
      EXPECT_EQ(event.name, "ProfilerStep*");
      EXPECT_EQ(event.trace_name(), "ProfilerStep#12");
    } else {
      EXPECT_EQ(event.details->recorded, "details");
    }
  }
  EXPECT_EQ(SharesOf(harness), (Shares{{"gemm", {20, 20}}, {"ProfilerStep*", {0, 20}}}));
}

}  // namespace
}  // namespace ferret::internal
