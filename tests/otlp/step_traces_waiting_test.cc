// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Up to which batch nothing waits for its step.

#include <gtest/gtest.h>

#include "tests/otlp/step_traces_kit.h"

namespace ferret::otlp {
namespace {

OtlpConfig EveryStep() {
  OtlpConfig config;
  config.sampling.every = 1;
  return config;
}

// An event, an instant or a piece of memory comes with the batch of that number.
class Waiting : public testing::Test {
 protected:
  void Begin(uint64_t number) {
    EventBatch batch;
    batch.sequence = number;
    run_.proto().Note(batch, RunnerClock::Time());
  }
  void Instant(int64_t time_us) {
    EventBatch batch;
    InstantEvent instant;
    instant.time_ns = kStartNs + time_us * 1000;
    batch.instants.push_back(instant);
    run_.Moments(batch);
  }
  uint64_t Through() { return run_.proto().through(); }

  Traces run_{EveryStep()};
};

TEST_F(Waiting, AnOperatorWaitsUntilItsStepIsDecided) {
  Begin(1);
  run_.Op(100, 200);
  EXPECT_EQ(Through(), 0u);
  Begin(2);
  run_.Step(0, 0, 1000);
  EXPECT_EQ(Through(), 0u);
  run_.Settle();
  EXPECT_EQ(Through(), 2u);
}

TEST_F(Waiting, AStepThatIsNotDecidedWaitsItself) {
  Begin(1);
  run_.Step(0, 0, 1000);
  Begin(2);
  EXPECT_EQ(Through(), 0u);
}

TEST_F(Waiting, WhatIsOfTheNextStepWaitsOn) {
  Begin(1);
  run_.Op(100, 200);
  Begin(2);
  run_.Op(1100, 1200);
  Begin(3);
  run_.Step(0, 0, 1000);
  run_.Settle();
  EXPECT_EQ(Through(), 1u);
}

TEST_F(Waiting, AnInstantWaitsAsAnOperatorDoes) {
  Begin(1);
  Instant(100);
  Begin(2);
  Instant(1100);
  Instant(100);
  Begin(3);
  run_.Step(0, 0, 1000);
  EXPECT_EQ(Through(), 0u);
  run_.Settle();
  EXPECT_EQ(Through(), 1u);
  run_.Step(1, 1000, 2000);
  run_.Settle();
  EXPECT_EQ(Through(), 3u);
}

TEST_F(Waiting, WhatFindsNoRoomDoesNotWait) {
  OtlpConfig config = EveryStep();
  config.sampling.held_bytes = 1 << 20;
  Traces run(config);
  run.Step(0, 0, 10);
  run.Settle();
  for (uint64_t number = 1; number <= 100; ++number) {
    EventBatch batch;
    batch.sequence = number;
    run.proto().Note(batch, RunnerClock::Time());
    for (int i = 0; i < 1000; ++i) run.proto().AddEvent(run.Event("aten::mm", 100, 200), {});
    EventBatch moments;
    moments.instants.resize(100);
    for (InstantEvent& instant : moments.instants) instant.time_ns = kStartNs + 150'000 + static_cast<int64_t>(number) * 1000;
    run.proto().AddMoments(moments);
  }
  EXPECT_GT(run.counts().cut, 0u);
  EXPECT_GT(run.proto().through(), 90u);
}

}  // namespace
}  // namespace ferret::otlp
