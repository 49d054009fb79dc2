// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs of several steps, as traces: what is sent, where it is, and what it names.

#include "exporters/otlp/steps/step_traces.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/otlp/decoded.h"

namespace ferret::otlp {
namespace {

std::string Bytes(const TraceId& id) { return {id.data(), id.size()}; }
std::string Bytes(SpanId id) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(id >> shift);
  return bytes;
}

// Steps of a run, sent in both forms.
class Traces {
 public:
  explicit Traces(OtlpConfig config = {})
      : ids(KeyOf(TestInfo(), kRunId)),
        resource_(TestInfo(), kRunId, "python3", {}),
        proto_(ids, config, resource_, {[this](RequestBody body) { Take(Decode(std::string(body.bytes)), body, &spans); },
                                        [this](const TraceId& trace, const HeldSpan& span) {
                                          exemplars[span.series.series.slot].push_back(Bytes(trace) + Bytes(span.id));
                                        },
                                        nullptr}),
        json_(ids, config, resource_,
              {[this](RequestBody body) { Take(DecodeJson(std::string(body.bytes)), body, &from_json); }, nullptr,
               nullptr}) {
    proto_.Begin(TestInfo());
    json_.Begin(TestInfo());
  }

  // Times are in us since the start.
  FunctionEvent Event(std::string_view name, int64_t start_us, int64_t end_us, int64_t parent = 0) {
    FunctionEvent event;
    event.id = ++last_id;
    event.parent_id = parent;
    event.name = name;
    event.start_ns = kStartNs + start_us * 1000;
    event.end_ns = kStartNs + end_us * 1000;
    event.thread = 1;
    event.device_resource_id = 917;
    return event;
  }
  void Add(const FunctionEvent& event, uint32_t slot = 0) {
    DurationSeries::Id series;
    series.series.slot = slot;
    proto_.AddEvent(event, series);
    json_.AddEvent(event, series);
  }
  int64_t Op(int64_t start_us, int64_t end_us, int64_t parent = 0) {
    Add(Event("aten::mm", start_us, end_us, parent));
    return last_id;
  }
  void Step(int64_t number, int64_t start_us, int64_t end_us) {
    EventDetails details;
    const std::string name = "ProfilerStep#" + std::to_string(number);
    details.trace_name = name;
    FunctionEvent event = Event("ProfilerStep*", start_us, end_us);
    event.details = &details;
    Add(event);
  }
  // Time goes by, until the steps so far are over.
  void Settle() {
    now_ += std::chrono::seconds(1);
    proto_.Note({}, now_);
    json_.Note({}, now_);
  }
  void Moments(const EventBatch& batch) {
    proto_.AddMoments(batch);
    json_.AddMoments(batch);
  }
  // What does not fit is not the same in both forms.
  void End(bool fits = true) {
    proto_.End({}, 0, kStartNs);
    json_.End({}, 0, kStartNs);
    if (!fits) return;
    ASSERT_EQ(spans.size(), from_json.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      ASSERT_EQ(spans[i].SerializeAsString(), from_json[i].SerializeAsString()) << spans[i].DebugString();
    }
  }

  // The span of an event; it must be there once.
  DecodedSpan Of(int64_t event) const {
    DecodedSpan found;
    int count = 0;
    for (const DecodedSpan& span : spans) {
      if (span.span_id() == Bytes(ids.OfEvent(event))) found = span, ++count;
    }
    EXPECT_EQ(count, 1);
    return found;
  }
  bool Has(int64_t event) const {
    for (const DecodedSpan& span : spans) {
      if (span.span_id() == Bytes(ids.OfEvent(event))) return true;
    }
    return false;
  }
  DecodedSpan Root(int64_t number) const {
    for (const DecodedSpan& span : spans) {
      if (span.trace_id() == Bytes(ids.TraceOfStep(number)) && span.parent_span_id().empty()) return span;
    }
    ADD_FAILURE() << "no root of step " << number;
    return {};
  }
  SpanCounts counts() const { return proto_.counts(); }
  StepTraces<SpanEncoder>& proto() { return proto_; }

  SpanIds ids;
  int64_t last_id = 0;
  std::vector<DecodedSpan> spans, from_json;
  std::vector<size_t> request_spans;
  std::map<uint32_t, std::vector<std::string>> exemplars;

 private:
  void Take(const Request& request, RequestBody body, std::vector<DecodedSpan>* to) {
    const std::vector<DecodedSpan> taken = SpansOf(request);
    EXPECT_EQ(taken.size(), body.spans);
    EXPECT_GT(body.spans, 0u);
    if (to == &spans) request_spans.push_back(body.spans);
    to->insert(to->end(), taken.begin(), taken.end());
  }

  const Resource resource_;
  RunnerClock::Time now_;
  StepTraces<SpanEncoder> proto_;
  StepTraces<JsonEncoder> json_;
};

OtlpConfig With(Detail detail) {
  OtlpConfig config;
  config.sampling.detail = detail;
  config.sampling.every = 2;
  config.sampling.slow = 0;
  return config;
}

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

TEST(StepTraces, AProgramWithoutStepsSendsABoundedPartOfItsDetail) {
  OtlpConfig config = With(Detail::kSampled);
  config.sampling.held_bytes = 3 << 20;
  Traces traces(config);
  for (int i = 0; i < 100000; ++i) traces.Op(i * 10, i * 10 + 5);
  traces.End(/*fits=*/false);
  EXPECT_GT(traces.counts().cut, 0u);
  EXPECT_GT(traces.counts().sent, 1000u);
  EXPECT_EQ(traces.counts().sent + traces.counts().cut, 100002u) << "the run and the record, too";
}

TEST(StepTraces, AStepLargerThanWhatMayWaitIsCutAndSaysSo) {
  OtlpConfig config = With(Detail::kSampled);
  config.sampling.held_bytes = 2 << 20;
  Traces traces(config);
  traces.Step(1, 0, 1);
  for (int i = 10; i < 20000; ++i) traces.Op(i, i + 1);
  traces.Step(2, 10, 30000);
  traces.End(/*fits=*/false);
  const uint64_t cut = traces.counts().cut;
  EXPECT_GT(cut, 0u);
  EXPECT_EQ(AttributesOf(traces.Root(2).attributes()).at("ferret.spans.cut"), "i:" + std::to_string(cut));
}

TEST(StepTraces, WithAllDetailAStepTooLargeToWaitIsInTheTraceOfTheRunWithAllItsParents) {
  OtlpConfig config = With(Detail::kAll);
  config.sampling.held_bytes = 2 << 20;
  Traces traces(config);
  traces.Step(4, 0, 1);
  traces.Settle();
  const int64_t step_id = 1000000;
  for (int i = 0; i < 20000; ++i) traces.Op(10 + i, 11 + i, step_id);
  traces.last_id = step_id - 1;
  traces.Step(5, 10, 30000);
  traces.Settle();
  traces.Op(40000, 40001);
  traces.Step(6, 39999, 40010);
  traces.End(/*fits=*/false);
  EXPECT_EQ(traces.counts().cut, 0u);
  EXPECT_EQ(traces.spans.size(), 20006u);
  const DecodedSpan root = traces.Of(step_id);
  EXPECT_EQ(root.trace_id(), Bytes(traces.ids.trace_id()));
  EXPECT_EQ(root.parent_span_id(), Bytes(traces.ids.OfRun()));
  int ops = 0;
  for (const DecodedSpan& span : traces.spans) {
    if (span.name() != "aten::mm" || span.parent_span_id() != root.span_id()) continue;
    ASSERT_EQ(span.trace_id(), root.trace_id());
    ++ops;
  }
  EXPECT_EQ(ops, 20000);
  EXPECT_EQ(traces.Root(6).name(), "ProfilerStep") << "later ones have traces of their own again";
}

TEST(StepTraces, WhatHasWaitedForLongMakesRoomForWhatIsNew) {
  OtlpConfig config = With(Detail::kSampled);
  config.sampling.held_bytes = 2 << 20;
  Traces traces(config);
  traces.Step(1, 0, 10);
  traces.Settle();
  for (int i = 0; i < 50000; ++i) traces.Op(100 + i, 101 + i);  // an evaluation
  const int64_t first = traces.last_id + 1;
  for (int i = 0; i < 100; ++i) traces.Op(60000 + i, 60001 + i);
  traces.Step(2, 60000, 70000);
  traces.End(/*fits=*/false);
  for (int64_t id = first; id < first + 100; ++id) EXPECT_EQ(traces.Of(id).trace_id(), traces.Root(2).trace_id());
}

TEST(StepTraces, MomentsThatHaveWaitedForLongMakeRoomToo) {
  for (Detail detail : {Detail::kSampled, Detail::kAll}) {
    OtlpConfig config = With(detail);
    config.sampling.held_bytes = 1 << 20;
    Traces traces(config);
    traces.Step(1, 0, 10);
    traces.Settle();
    EventBatch batch;
    for (int i = 0; i < 1000; ++i) {
      batch.memory.emplace_back();
      batch.memory.back().time_ns = kStartNs + 20000 + i;
    }
    for (int i = 0; i < 100; ++i) traces.Moments(batch);
    const int64_t first = traces.last_id + 1;
    for (int i = 0; i < 100; ++i) traces.Op(60000 + i, 60001 + i);
    traces.Step(2, 60000, 70000);
    traces.End(/*fits=*/false);
    for (int64_t id = first; id < first + 100; ++id) EXPECT_EQ(traces.Of(id).trace_id(), traces.Root(2).trace_id());
    uint64_t moments = 0;
    for (const DecodedSpan& span : traces.spans) moments += static_cast<uint64_t>(span.events_size());
    EXPECT_EQ(moments + traces.counts().cut, 100000u);
    if (detail == Detail::kAll) {
      EXPECT_EQ(traces.counts().cut, 0u);
    }
  }
}

TEST(StepTraces, EvenTheSmallestHoldHasRoomForThousands) {
  OtlpConfig config = With(Detail::kSampled);
  config.sampling.held_bytes = 1 << 20;
  Traces traces(config);
  for (int i = 0; i < 2000; ++i) traces.Op(i, i + 1);
  traces.Step(0, 0, 3000);
  traces.End();
  EXPECT_EQ(traces.counts().cut, 0u);
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

TEST(StepTraces, RequestsAreNoLargerThanAllowed) {
  OtlpConfig config = With(Detail::kAll);
  config.delivery.batch_spans = 100;
  Traces traces(config);
  for (int i = 0; i < 1000; ++i) traces.Op(i, i + 1);
  traces.Step(0, 0, 2000);
  traces.End();
  for (size_t spans : traces.request_spans) EXPECT_LE(spans, 100u);
  EXPECT_EQ(traces.spans.size(), 1003u);
  Traces by_bytes([] {
    OtlpConfig small = With(Detail::kAll);
    small.delivery.batch_bytes = 5000;
    return small;
  }());
  for (int i = 0; i < 1000; ++i) by_bytes.Op(i, i + 1);
  by_bytes.Step(0, 0, 2000);
  by_bytes.End();
  EXPECT_GT(by_bytes.request_spans.size(), 10u);
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
