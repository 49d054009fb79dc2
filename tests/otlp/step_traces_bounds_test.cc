// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What waits is bounded, and so is what is sent of it.

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/otlp/step_traces_kit.h"

namespace ferret::otlp {
namespace {

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

}  // namespace
}  // namespace ferret::otlp
