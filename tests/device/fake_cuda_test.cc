// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The fake driver's events and clocks: what the runtime's device code relies on.
#include <cstdint>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

using FakeCudaEvents = FakeCudaTest;

TEST_F(FakeCudaEvents, AreRefusedBeforeInitialisation) {
  fake_.Reset();
  void* event = &fake_;
  EXPECT_EQ(Cu("cuEventCreate", &event, 0U), 3);
  EXPECT_EQ(event, &fake_) << "out-parameters stay untouched on errors";
  EXPECT_EQ(Cu("cuInit", 0U), 0);
  EXPECT_EQ(Cu("cuEventCreate", &event, 0U), 201);
}

TEST_F(FakeCudaEvents, AreRefusedWithoutACurrentContext) {
  fake_.MakeCurrent(nullptr);
  void* event = &fake_;
  EXPECT_EQ(Cu("cuEventCreate", &event, 0U), 201);
  EXPECT_EQ(event, &fake_);
}

TEST_F(FakeCudaEvents, ThatWereNeverRecordedAreReadyButHaveNoTime) {
  void* const event = NewEvent();
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
  float ms = 7;
  EXPECT_EQ(Cu("cuEventElapsedTime", &ms, event, event), 400);
  EXPECT_EQ(ms, 7);
}

TEST_F(FakeCudaEvents, ArePendingUntilTheStreamHasReachedThem) {
  void* const start = RecordedEvent(stream_);
  ASSERT_EQ(fake_.Kernel(stream_, 1'234'500), 0);
  void* const end = RecordedEvent(stream_);
  EXPECT_EQ(Cu("cuEventQuery", start), 0);
  EXPECT_EQ(Cu("cuEventQuery", end), 600);
  float ms = 7;
  EXPECT_EQ(Cu("cuEventElapsedTime", &ms, start, end), 600);
  EXPECT_EQ(ms, 7);
  EXPECT_EQ(fake_.GetCounts().elapsed_on_pending, 1U);

  fake_.AdvanceNs(1'234'499);
  EXPECT_EQ(Cu("cuEventQuery", end), 600);
  fake_.AdvanceNs(1);
  EXPECT_EQ(Cu("cuEventQuery", end), 0);
  EXPECT_EQ(Cu("cuEventElapsedTime", &ms, start, end), 0);
  EXPECT_EQ(ms, 1.2345F);
  EXPECT_EQ(ElapsedMs(start, end), ms) << "both versions of the function answer alike";
  EXPECT_EQ(StampNs(end) - StampNs(start), 1'234'500);
}

TEST_F(FakeCudaEvents, AreStampedInWholeTicks) {
  void* const start = RecordedEvent(stream_);
  fake_.Kernel(stream_, 1'234'567);
  void* const end = RecordedEvent(stream_);
  fake_.AdvanceNs(2'000'000);
  EXPECT_EQ(ElapsedMs(start, end), 1.2345F);
  EXPECT_EQ(StampNs(end) - StampNs(start), 1'234'567) << "the truth is not quantised";

  fake_.SetGranularityNs(0, 1000);
  void* const later = RecordedEvent(stream_);
  fake_.Kernel(stream_, 1'999);
  void* const last = RecordedEvent(stream_);
  fake_.AdvanceNs(2'000'000);
  EXPECT_EQ(ElapsedMs(later, last), 0.001F);
}

TEST_F(FakeCudaEvents, FollowTheDeviceClocksDrift) {
  fake_.SetDriftPpm(0, 50);
  void* const start = RecordedEvent(stream_);
  fake_.AdvanceNs(60'000'000'000);
  void* const end = RecordedEvent(stream_);
  EXPECT_EQ(ElapsedMs(start, end), 60'003.0F);
}

TEST_F(FakeCudaEvents, SeeNoStepWhenTheDriftChanges) {
  fake_.SetDriftPpm(0, 100);
  fake_.AdvanceNs(10'000'000'000);
  void* const start = RecordedEvent(stream_);
  fake_.SetDriftPpm(0, -100);
  void* const end = RecordedEvent(stream_);
  EXPECT_EQ(ElapsedMs(start, end), 0.0F);
  fake_.AdvanceNs(10'000'000'000);
  EXPECT_EQ(ElapsedMs(start, RecordedEvent(stream_)), 9'999.0F);
}

TEST_F(FakeCudaEvents, SeeStepsAndWanderOfTheDeviceClock) {
  void* const start = RecordedEvent(stream_);
  fake_.StepDeviceClockNs(0, 3'000'000);
  EXPECT_EQ(ElapsedMs(start, RecordedEvent(stream_)), 3.0F);

  // Called without locks: a wander may call the fake.
  fake_.SetWander(
      0, [](void* user, int64_t now_ns) { return static_cast<FakeCuda*>(user)->NowNs() >= now_ns ? 2e6 : 0.0; },
      &fake_);
  EXPECT_EQ(ElapsedMs(start, RecordedEvent(stream_)), 5.0F);
}

TEST_F(FakeCudaEvents, RoundLongTimesAsSinglePrecisionDoes) {
  void* const start = RecordedEvent(stream_);
  fake_.AdvanceNs(3'600'000'000'500);
  EXPECT_EQ(ElapsedMs(start, RecordedEvent(stream_)), 3'600'000.0F) << "an hour's step is 250 µs";
}

TEST_F(FakeCudaEvents, CostTheFrontEndAndTheCaller) {
  fake_.SetFrontEndCostNs(1'500);
  fake_.SetLatencyNs("cuEventRecord", 700);
  const int64_t before = fake_.NowNs();
  void* const event = RecordedEvent(stream_);
  EXPECT_EQ(fake_.NowNs(), before + 700);
  EXPECT_EQ(StampNs(event), before + 700 + 1'500);
  EXPECT_EQ(Cu("cuEventQuery", event), 600);
  fake_.SetLatencyNs(nullptr, 1'500);
  EXPECT_EQ(Cu("cuEventQuery", event), 0) << "the query's own time passed first";
}

TEST_F(FakeCudaEvents, OfAnotherContextAreNotRecordedOrCompared) {
  void* const other = fake_.NewContext(0);
  void* const mine = RecordedEvent(stream_);
  fake_.MakeCurrent(other);
  void* const theirs = RecordedEvent(fake_.NewStream(other));
  EXPECT_EQ(Cu("cuEventRecord", theirs, stream_), 400);
  EXPECT_EQ(ElapsedMs(mine, theirs), -1);
  EXPECT_EQ(Cu("cuEventQuery", mine), 0) << "queries need no current context";
}

TEST_F(FakeCudaEvents, WithoutTimingHaveNoTime) {
  void* const untimed = NewEvent(2);
  EXPECT_EQ(Cu("cuEventRecord", untimed, stream_), 0);
  float ms;
  EXPECT_EQ(Cu("cuEventElapsedTime", &ms, untimed, untimed), 400);
  void* event;
  EXPECT_EQ(Cu("cuEventCreate", &event, 4U), 1) << "interprocess events cannot be timed";
}

TEST_F(FakeCudaEvents, AreAwaitedBySynchronisingOnTheVirtualClock) {
  fake_.Kernel(stream_, 5'000'000);
  void* const event = RecordedEvent(stream_);
  EXPECT_EQ(Cu("cuEventSynchronize", event), 0);
  EXPECT_EQ(fake_.NowNs(), StampNs(event));
}

TEST_F(FakeCudaEvents, FollowABoundClock) {
  int64_t now = 42'000;
  fake_.UseClock([](void* user) { return *static_cast<int64_t*>(user); }, &now);
  void* const event = RecordedEvent(stream_);
  EXPECT_EQ(StampNs(event), 42'000);
  fake_.AdvanceNs(5);
  EXPECT_EQ(fake_.NowNs(), 42'000) << "only its owner moves it";
  fake_.UseMonotonicClock();
  const int64_t before = fake_.NowNs();
  fake_.Kernel(stream_, 2'000'000);
  EXPECT_EQ(Cu("cuStreamSynchronize", stream_), 0);
  EXPECT_GE(fake_.NowNs() - before, 2'000'000);
}

}  // namespace
}  // namespace fake_cuda
