// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs of several steps, as traces: what is sent, where it is, and what it names.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/otlp/step_traces_kit.h"

namespace ferret::otlp {
namespace {

TEST(StepTraces, AStepIsATraceOfItsOwnWithALinkToTheRun) {
  Traces traces(With(Detail::kAll));
  const int64_t op = traces.Op(10, 20);
  traces.Step(7, 0, 100);
  traces.End();
  const DecodedSpan root = traces.Root(7);
  EXPECT_EQ(root.name(), "ProfilerStep");
  EXPECT_EQ(AttributesOf(root.attributes()).at("ferret.step"), "i:7");
  EXPECT_EQ(root.start_time_unix_nano(), static_cast<uint64_t>(kStartNs));
  EXPECT_EQ(root.end_time_unix_nano(), static_cast<uint64_t>(kStartNs + 100000));
  ASSERT_EQ(root.links_size(), 1);
  EXPECT_EQ(root.links(0).span_id(), Bytes(traces.ids.OfRun()));
  EXPECT_EQ(root.links(0).trace_id(), Bytes(traces.ids.trace_id()));
  EXPECT_EQ(AttributesOf(root.links(0).attributes()).at("ferret.link.type"), "s:run");
  EXPECT_EQ(traces.Of(op).trace_id(), root.trace_id());
  EXPECT_EQ(traces.Of(op).parent_span_id(), root.span_id());
}

TEST(StepTraces, TheLimitsOfSpansGoForAllOfThem) {
  OtlpConfig config = With(Detail::kAll);
  config.most_attributes = 1;
  config.most_value_chars = 2;
  config.most_events = 2;
  Traces traces(config);
  EventBatch batch;
  batch.instants.resize(5);
  for (InstantEvent& instant : batch.instants) instant.time_ns = kStartNs + 5000;
  traces.Moments(batch);
  FunctionEvent op = traces.Event("aten::mm", 10, 20);
  op.scope = RecordScope::kUserScope;
  op.device_resource_id = 0;
  traces.Add(op);
  traces.Add(traces.Event("enumerate(DataLoader)#x", 0, 10));
  traces.Step(7, 0, 100);
  traces.End();
  std::multiset<int> carried;
  std::vector<std::string> phases;
  for (const DecodedSpan& span : traces.spans) {
    EXPECT_LE(span.attributes_size(), 1) << span.name();
    if (span.events_size() > 0) carried.insert(span.events_size());
    if (span.name() != "data") continue;
    phases.push_back(AttributesOf(span.attributes()).begin()->second);
  }
  EXPECT_EQ(phases, std::vector<std::string>{"s:da"});
  EXPECT_EQ(carried, (std::multiset<int>{1, 2, 2}));
  EXPECT_GT(traces.Root(7).dropped_attributes_count(), 0u);
  EXPECT_EQ(AttributesOf(traces.Of(op.id).attributes()).at("ferret.scope"), "s:us");
}

TEST(StepTraces, ParentsThatAreNotInTheStepAreReplacedByItsRoot) {
  Traces traces(With(Detail::kAll));
  const int64_t inner = traces.Op(30, 40, traces.last_id + 2);
  const int64_t outer = traces.Op(20, 50, 1000);  // inside of a scope that is still open
  traces.Step(1, 0, 100);
  traces.End();
  EXPECT_EQ(traces.Of(inner).parent_span_id(), Bytes(traces.ids.OfEvent(outer)));
  EXPECT_EQ(traces.Of(outer).parent_span_id(), traces.Root(1).span_id());
}

TEST(StepTraces, OnlySampledStepsHaveDetail) {
  Traces traces(With(Detail::kSampled));
  std::vector<int64_t> ops;
  for (int64_t step = 0; step < 4; ++step) {
    ops.push_back(traces.Op(step * 100 + 10, step * 100 + 20));
    traces.Step(step, step * 100, step * 100 + 100);
  }
  traces.End();
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(traces.Has(ops[static_cast<size_t>(step)]), step % 2 == 0) << step;
    EXPECT_EQ(AttributesOf(traces.Root(step).attributes()).at("ferret.detail"), step % 2 == 0 ? "s:every" : "s:none");
  }
  EXPECT_EQ(traces.counts().not_sampled, 2u);
  EXPECT_EQ(traces.counts().cut, 0u);
}

TEST(StepTraces, PhasesAreSentAlsoOfStepsWithoutDetail) {
  Traces traces(With(Detail::kNone));
  traces.Add(traces.Event("enumerate(DataLoader)#x", 0, 10));
  FunctionEvent backward = traces.Event("MmBackward0", 50, 80);
  backward.fwd_thread = 1;
  traces.Add(backward);
  traces.Add(traces.Event("Optimizer.step#SGD.step", 90, 100));
  traces.Step(3, 0, 100);
  traces.End();
  std::map<std::string, std::string> phases;
  const DecodedSpan root = traces.Root(3);
  for (const DecodedSpan& span : traces.spans) {
    if (span.parent_span_id() != root.span_id()) continue;
    EXPECT_EQ(span.trace_id(), root.trace_id());
    phases[span.name()] = AttributesOf(span.attributes()).at("ferret.phase");
  }
  EXPECT_EQ(phases, (std::map<std::string, std::string>{
                        {"data", "s:data"}, {"forward", "s:forward"}, {"backward", "s:backward"},
                        {"optimizer", "s:optimizer"}}));
  const auto attributes = AttributesOf(root.attributes());
  EXPECT_EQ(attributes.at("ferret.phase.forward_ns"), "i:40000");
  EXPECT_EQ(attributes.at("ferret.phase.backward_ns"), "i:30000");
}

TEST(StepTraces, KernelsThatComeLateAreOfTheStepThatLaunchedThem) {
  Traces traces(With(Detail::kSampled));
  const int64_t kept = traces.Op(10, 20);
  traces.Step(0, 0, 100);
  const int64_t dropped = traces.Op(110, 120);
  traces.Step(1, 100, 200);
  traces.Settle();
  EventDetails details;
  DeviceLaunch launch;
  details.launch = &launch;
  const auto kernel = [&](int64_t scope, int64_t launch_us) {
    FunctionEvent event = traces.Event("gemm", 300, 310);
    event.device_type = DeviceType::kCuda;
    event.details = &details;
    launch.scope_id = scope;
    launch.start_ns = kStartNs + launch_us * 1000;
    traces.Add(event);
    return event.id;
  };
  const int64_t first = kernel(kept, 15);
  const int64_t second = kernel(dropped, 115);
  traces.End();
  EXPECT_EQ(traces.Of(first).trace_id(), traces.Root(0).trace_id());
  EXPECT_EQ(traces.Of(first).parent_span_id(), Bytes(traces.ids.OfEvent(kept)));
  EXPECT_FALSE(traces.Has(second));
}

TEST(StepTraces, ALaunchIsALinkIfThatIsAskedFor) {
  OtlpConfig config = With(Detail::kAll);
  config.link_kernels = true;
  Traces traces(config);
  const int64_t op = traces.Op(10, 20);
  EventDetails details;
  DeviceLaunch launch;
  launch.scope_id = op;
  launch.start_ns = kStartNs + 15000;
  details.launch = &launch;
  FunctionEvent kernel = traces.Event("gemm", 30, 40);
  kernel.device_type = DeviceType::kCuda;
  kernel.details = &details;
  traces.Add(kernel);
  traces.Step(5, 0, 100);
  traces.End();
  const DecodedSpan span = traces.Of(kernel.id);
  EXPECT_EQ(span.parent_span_id(), traces.Root(5).span_id());
  ASSERT_EQ(span.links_size(), 1);
  EXPECT_EQ(span.links(0).trace_id(), traces.Root(5).trace_id());
  EXPECT_EQ(span.links(0).span_id(), Bytes(traces.ids.OfEvent(op)));
  EXPECT_EQ(AttributesOf(span.links(0).attributes()).at("ferret.link.type"), "s:launch");
}

TEST(StepTraces, LinksNameTheTraceThatTheForwardOperatorIsIn) {
  Traces traces(With(Detail::kAll));
  const int64_t earlier = traces.Op(10, 20);
  traces.Step(0, 0, 100);
  const int64_t same = traces.Op(110, 120);
  const auto backward = [&](int64_t forward) {
    FunctionEvent event = traces.Event("MmBackward0", 150, 160);
    event.fwd_thread = 1;
    event.forward_id = forward;
    traces.Add(event);
    return event.id;
  };
  const int64_t a = backward(earlier), b = backward(same);
  traces.Step(1, 100, 200);
  traces.End();
  EXPECT_EQ(traces.Of(a).links(0).trace_id(), traces.Root(0).trace_id());
  EXPECT_EQ(traces.Of(b).links(0).trace_id(), traces.Root(1).trace_id());
}

TEST(StepTraces, WhatIsOutsideOfStepsIsInTheTraceOfTheRun) {
  Traces traces(With(Detail::kSampled));
  const int64_t before = traces.Op(10, 20);
  const int64_t in = traces.Op(110, 120);
  traces.Step(0, 100, 200);
  const int64_t after = traces.Op(300, 310);
  traces.End();
  EXPECT_EQ(traces.Of(before).trace_id(), Bytes(traces.ids.trace_id()));
  EXPECT_EQ(traces.Of(before).parent_span_id(), Bytes(traces.ids.OfRun()));
  EXPECT_EQ(traces.Of(in).trace_id(), traces.Root(0).trace_id());
  EXPECT_EQ(traces.Of(after).trace_id(), Bytes(traces.ids.trace_id()));
}

TEST(StepTraces, KernelsWhoseLauncherIsNotThereAreUnderTheStep) {
  Traces traces(With(Detail::kAll));
  const int64_t step_id = 50;
  traces.last_id = step_id - 1;
  traces.Step(0, 0, 100);
  traces.Settle();
  EventDetails details;
  DeviceLaunch launch;
  details.launch = &launch;
  for (int64_t scope : {step_id, int64_t{999}}) {  // launched by the step itself, and by a scope that was lost
    FunctionEvent kernel = traces.Event("gemm", 300, 310);
    kernel.device_type = DeviceType::kCuda;
    kernel.details = &details;
    launch.scope_id = scope;
    launch.start_ns = kStartNs + 15000;
    traces.Add(kernel);
    EXPECT_EQ(traces.last_id, kernel.id);
  }
  traces.End();
  EXPECT_EQ(traces.Of(step_id + 1).parent_span_id(), Bytes(traces.ids.OfEvent(step_id)));
  EXPECT_EQ(traces.Of(step_id + 2).parent_span_id(), Bytes(traces.ids.OfEvent(step_id)));
}

TEST(StepTraces, MomentsAreInTheStepInWhichTheyHappened) {
  Traces traces(With(Detail::kSampled));
  EventBatch batch;
  for (int i = 0; i < 90; ++i) {
    InstantEvent instant;
    instant.name = "mark";
    instant.time_ns = kStartNs + i * 10000;
    batch.instants.push_back(instant);
    MemoryEvent memory;
    memory.time_ns = instant.time_ns;
    batch.memory.push_back(memory);
  }
  traces.Moments(batch);
  for (int64_t step = 0; step < 3; ++step) traces.Step(step, step * 300, step * 300 + 300);
  traces.Settle();
  traces.Moments(batch);  // late ones, too
  traces.End();
  std::map<std::string, int> moments;  // by trace
  for (const DecodedSpan& span : traces.spans) {
    moments[span.trace_id()] += span.events_size();
    for (const auto& event : span.events()) {
      EXPECT_GE(event.time_unix_nano(), span.start_time_unix_nano());
      EXPECT_LE(event.time_unix_nano(), span.end_time_unix_nano());
    }
  }
  EXPECT_EQ(moments[traces.Root(0).trace_id()], 120);
  EXPECT_EQ(moments[traces.Root(1).trace_id()], 0);
  EXPECT_EQ(moments[traces.Root(2).trace_id()], 120);
}

TEST(StepTraces, StepsThatOverlapKeepTheirTimes) {
  Traces traces(With(Detail::kNone));
  traces.Step(1, 0, 100);
  traces.Step(2, 100, 200);
  traces.Step(11, 0, 110);  // of another thread, and later
  traces.Step(12, 110, 190);
  traces.End();
  for (const auto& [number, us] : std::map<int64_t, int>{{1, 100}, {2, 100}, {11, 110}, {12, 80}}) {
    const DecodedSpan root = traces.Root(number);
    EXPECT_EQ(root.end_time_unix_nano() - root.start_time_unix_nano(), us * 1000u);
  }
}

TEST(StepTraces, TheRunIsUnderTheSpanThatStartedIt) {
  OtlpConfig config = With(Detail::kAll);
  RemoteContext remote;
  remote.trace_id.fill('\x11');
  remote.span_id = 0x2222222222222222;
  remote.flags = 1;
  remote.state = "vendor=a";
  config.remote = remote;
  Traces traces(config);
  traces.Step(0, 0, 100);
  traces.End();
  ASSERT_FALSE(traces.spans.empty());
  const DecodedSpan& run = traces.spans.front();
  EXPECT_EQ(run.name(), "Ferret Run");
  EXPECT_EQ(run.trace_id(), Bytes(remote.trace_id));
  EXPECT_EQ(run.parent_span_id(), Bytes(remote.span_id));
  EXPECT_EQ(run.flags(), 0x301u);
  EXPECT_EQ(run.trace_state(), "vendor=a");
  EXPECT_EQ(traces.Root(0).links(0).trace_id(), run.trace_id());
  EXPECT_NE(traces.Root(0).trace_id(), run.trace_id());
}

TEST(StepTraces, LossesAreSaidOfTheStepInWhichTheyHappened) {
  Traces traces(With(Detail::kAll));
  EventBatch batch;
  InstantEvent loss;
  loss.kind = InstantEvent::Kind::kLoss;
  loss.value = 12;
  loss.time_ns = kStartNs + 150000;
  batch.instants.push_back(loss);
  traces.Moments(batch);
  traces.Step(0, 0, 100);
  traces.Step(1, 100, 200);
  traces.End();
  EXPECT_EQ(AttributesOf(traces.Root(0).attributes()).count("ferret.lost"), 0u);
  EXPECT_EQ(AttributesOf(traces.Root(1).attributes()).at("ferret.lost"), "i:12");
}

TEST(StepTraces, TheSameStepHasTheSameTraceInEveryProcessOfTheRankAndNoOther) {
  ProcessKey key;
  key.job = "job";
  key.rank = 1;
  key.pid = 5;
  const TraceId first = SpanIds(key).TraceOfStep(3);
  key.pid = 6;
  EXPECT_EQ(SpanIds(key).TraceOfStep(3), first);
  EXPECT_NE(SpanIds(key).TraceOfStep(4), first);
  key.rank = 2;
  EXPECT_NE(SpanIds(key).TraceOfStep(3), first);
}

TEST(StepTraces, WhoAsksIsToldOfTheSpansThatAreSentOnly) {
  Traces traces(With(Detail::kSampled));
  traces.Add(traces.Event("a", 10, 20), 4);
  traces.Step(0, 0, 100);
  traces.Add(traces.Event("a", 110, 120), 4);
  traces.Step(1, 100, 200);
  traces.End();
  ASSERT_EQ(traces.exemplars[4].size(), 1u);
  EXPECT_EQ(traces.exemplars[4][0], Bytes(traces.ids.TraceOfStep(0)) + Bytes(traces.ids.OfEvent(1)));
}

TEST(StepTraces, BackwardOperatorsThatComeAfterTheirStepAreInItsPhases) {
  Traces traces(With(Detail::kSampled));
  traces.Step(0, 0, 100);
  FunctionEvent backward = traces.Event("MmBackward0", 40, 80);
  backward.fwd_thread = 1;
  traces.Add(backward);
  traces.Step(1, 100, 200);
  traces.End();
  EXPECT_EQ(AttributesOf(traces.Root(0).attributes()).at("ferret.phase.backward_ns"), "i:40000");
  EXPECT_EQ(traces.Of(backward.id).parent_span_id(), traces.Root(0).span_id());
}

TEST(StepTraces, AStepIsSentAWhileAfterItsEndOrWhenSomebodyWaits) {
  OtlpConfig config = With(Detail::kAll);
  config.delivery.schedule_delay = absl::ZeroDuration();
  Traces traces(config);
  RunnerClock::Time now;
  traces.Step(0, 0, 100);
  traces.proto().Flush(now += std::chrono::milliseconds(499), /*awaited=*/false);
  EXPECT_EQ(traces.spans.size(), 1u) << "the run";
  traces.proto().Flush(now += std::chrono::milliseconds(1), /*awaited=*/false);
  EXPECT_EQ(traces.Root(0).name(), "ProfilerStep");
  traces.Step(1, 100, 200);
  traces.proto().Flush(now, /*awaited=*/true);
  EXPECT_EQ(traces.Root(1).name(), "ProfilerStep");
}

TEST(StepTraces, ARequestWaitsForMoreSpansAsLongAsItIsTold) {
  OtlpConfig config = With(Detail::kAll);
  config.delivery.schedule_delay = absl::Seconds(5);
  Traces traces(config);
  RunnerClock::Time now;
  traces.proto().Flush(now += std::chrono::milliseconds(4999), /*awaited=*/false);
  EXPECT_TRUE(traces.spans.empty());
  traces.proto().Note({}, now += std::chrono::milliseconds(1));
  EXPECT_EQ(traces.spans.size(), 1u);
}

// Random runs: scopes of several threads, steps, kernels that come late, forward links.
TEST(StepTraces, InRandomRunsEverySpanIsSentOrCountedAndEveryParentIsThere) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
    OtlpConfig config = With(seed % 3 == 0 ? Detail::kAll : Detail::kSampled);
    config.delivery.batch_spans = 1 + random() % 200;
    if (seed % 5 == 0) config.sampling.held_bytes = 64 << 10;
    Traces traces(config);
    uint64_t spans = 2;
    int64_t now = 0;
    for (int64_t step = 0; step < 12; ++step) {
      const int64_t start = now;
      if (below(4) == 0) now += below(50);
      const int64_t step_start = now;
      for (int64_t i = below(60); i > 0; --i) {
        const int64_t from = std::max<int64_t>(0, (below(8) == 0 ? start - 40 : step_start) + below(100));
        const int64_t parent = below(3) == 0 ? traces.last_id + 1 + below(3) : 0;
        FunctionEvent event = traces.Event(below(2) ? "a" : "b", from, from + below(30), parent);
        if (below(3) == 0 && event.id > 2) event.fwd_thread = 1, event.forward_id = 1 + below(20);
        traces.Add(event);
        ++spans;
      }
      now += 1 + below(100);
      traces.Step(step, step_start, now);
      if (below(2) == 0) traces.Settle();
      ++spans;
    }
    traces.End(/*fits=*/seed % 5 != 0);
    uint64_t phases = 0;
    std::map<std::string, std::set<std::string>> ids;
    for (const DecodedSpan& span : traces.spans) {
      ASSERT_TRUE(ids[span.trace_id()].insert(span.span_id()).second);
      phases += AttributesOf(span.attributes()).count("ferret.phase");
    }
    EXPECT_EQ(traces.counts().sent, traces.spans.size());
    EXPECT_EQ(traces.counts().sent + traces.counts().not_sampled + traces.counts().cut, spans + phases);
    if (config.sampling.detail == Detail::kAll) continue;  // outside of steps a parent may be one that never came
    for (const DecodedSpan& span : traces.spans) {
      if (span.parent_span_id().empty()) continue;
      EXPECT_TRUE(ids[span.trace_id()].count(span.parent_span_id())) << seed << "\n" << span.DebugString();
    }
  }
}

}  // namespace
}  // namespace ferret::otlp
