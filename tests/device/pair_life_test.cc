// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a pair of marks: timed, or one reason why not; and of its events.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/device/device_kit.h"

namespace ferret::internal {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::optional<DeviceLoss> TimeKernel(DeviceKit& kit, CuStream stream, uint64_t* token = nullptr) {
  return kit.Time(stream, [&] { kit.fake.Kernel(stream, 10'000); }, token);
}

TEST(PairLife, ATimedPairComesBackAndItsEventsServeTheNextOne) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  const uint64_t created = kit.fake.GetCounts().events_created;
  for (int i = 0; i < 10'000; ++i) {
    uint64_t token = 0;
    ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
    kit.RunFor(1'000'000, 1'000'000);
  }
  kit.Settle();
  EXPECT_EQ(kit.results.size(), 10'000u);
  for (const auto& entry : kit.results) EXPECT_TRUE(entry.second.timed);
  const fake_cuda::Counts counts = kit.fake.GetCounts();
  // More only for anchors, of which one is taken a second.
  EXPECT_LE(counts.events_created, created + 64);
  EXPECT_EQ(counts.events_destroyed, 0u);
  // But for the tries of anchors that others turned out to be narrower than.
  const PairTracker::Counts tracked = kit.tracker->counts();
  EXPECT_LE(counts.rerecords_of_unread, tracked.anchor_tries - tracked.anchors);
  EXPECT_EQ(counts.elapsed_on_pending, 0u);
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created());
}

TEST(PairLife, OnlyTheOldestPairOfAStreamIsAskedFor) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  kit.fake.Kernel(stream, kSecond);
  for (int i = 0; i < 60; ++i) ASSERT_EQ(TimeKernel(kit, stream), std::nullopt);
  const uint64_t queries = kit.fake.Calls("cuEventQuery");
  kit.Pass();
  EXPECT_EQ(kit.fake.Calls("cuEventQuery"), queries + 1);
  kit.RunFor(3 * kSecond, 10'000'000);
  kit.Settle();
  EXPECT_EQ(kit.results.size(), 60u);
}

TEST(PairLife, WithoutPairsNothingIsAsked) {
  DeviceKit kit;
  kit.Prepare(kit.NewStream());
  const uint64_t calls = kit.fake.Calls(nullptr);
  kit.RunFor(100 * kSecond, kSecond);
  EXPECT_EQ(kit.fake.Calls(nullptr), calls);
}

TEST(PairLife, NoCallWaitsForTheDevice) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(TimeKernel(kit, stream), std::nullopt);
    kit.RunFor(10'000'000);
  }
  kit.Settle();
  for (const char* function : {"cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize", "cuInit",
                               "cuCtxCreate", "cuDevicePrimaryCtxRetain", "cuEventDestroy"}) {
    EXPECT_EQ(kit.fake.Calls(function), 0u) << function;
  }
}

TEST(PairLife, ANullStreamIsRefusedAndTheDefaultStreamsAreToldApart) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  EXPECT_EQ(TimeKernel(kit, nullptr), DeviceLoss::kBadStream);
  const auto legacy = reinterpret_cast<CuStream>(uintptr_t{1});
  const auto per_thread = reinterpret_cast<CuStream>(uintptr_t{2});
  EXPECT_EQ(TimeKernel(kit, legacy), std::nullopt);
  EXPECT_EQ(TimeKernel(kit, per_thread), std::nullopt);
  EXPECT_EQ(TimeKernel(kit, stream), std::nullopt);
  kit.Settle();
  ASSERT_EQ(kit.results.size(), 3u);
  EXPECT_NE(kit.results.at(1).stream, kit.results.at(2).stream);
  EXPECT_NE(kit.results.at(1).stream, kit.results.at(3).stream);
  EXPECT_NE(kit.results.at(2).stream, kit.results.at(3).stream);
  for (const auto& entry : kit.results) EXPECT_GT(entry.second.stream, 0);
  EXPECT_EQ(kit.streams.size(), 3u);
}

TEST(PairLife, ADefaultStreamWithoutACurrentContextHasNone) {
  DeviceKit kit;
  kit.Prepare(kit.NewStream());
  kit.fake.MakeCurrent(nullptr);
  EXPECT_EQ(TimeKernel(kit, reinterpret_cast<CuStream>(uintptr_t{1})), DeviceLoss::kNoContext);
  EXPECT_EQ(TimeKernel(kit, reinterpret_cast<CuStream>(uintptr_t{2})), DeviceLoss::kNoContext);
}

TEST(PairLife, AStreamOfAGreenContextIsLeftAlone) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.fake.SetStreamGreen(stream, true);
  EXPECT_EQ(TimeKernel(kit, stream), DeviceLoss::kGreenContext);
  EXPECT_EQ(kit.fake.Calls("cuEventRecord"), 0u);
}

TEST(PairLife, EachDeviceHasItsOwnEventsAndClock) {
  DeviceKit kit;
  kit.fake.Reset();
  kit.fake.SetDeviceCount(2);
  kit.fake.Initialize();
  kit.fake.SetDriftPpm(0, 40);
  kit.fake.SetDriftPpm(1, -40);
  const CuStream first = kit.NewStream(0);
  const CuStream second = kit.NewStream(1);
  kit.Prepare(first);
  kit.Prepare(second);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(TimeKernel(kit, first), std::nullopt);
    ASSERT_EQ(TimeKernel(kit, second), std::nullopt);
    kit.RunFor(50'000'000);
  }
  kit.Settle();
  EXPECT_EQ(kit.devices.size(), 2u);
  ASSERT_EQ(kit.results.size(), 400u);
  for (const auto& [token, result] : kit.results) {
    ASSERT_TRUE(result.timed);
    EXPECT_EQ(result.device_index, token % 2 == 1 ? 0 : 1);
    EXPECT_LE(std::abs(result.start_ns - kit.truths[token].start_ns), result.error_ns);
  }
}

TEST(PairLife, AFullPoolLosesWhatCannotBeTimedAndNothingElse) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  kit.fake.Kernel(stream, 100 * kSecond);  // nothing behind it comes to an end
  uint32_t timed = 0;
  uint32_t lost = 0;
  for (uint32_t i = 0; i < 2 * CudaContext::kMostPairs; ++i) {
    const auto loss = TimeKernel(kit, stream);
    EXPECT_EQ(loss.value_or(DeviceLoss::kPoolExhausted), DeviceLoss::kPoolExhausted);
    ++(loss ? lost : timed);
    if (i % 32 == 0) kit.Pass();
  }
  EXPECT_EQ(timed, CudaContext::kMostPairs);
  EXPECT_EQ(lost, CudaContext::kMostPairs);
  kit.fake.AdvanceNs(50 * kSecond);
  kit.fake.AdvanceNs(51 * kSecond);
  kit.Settle();
  EXPECT_EQ(kit.results.size(), timed);
  EXPECT_EQ(kit.timer.context(1).free_pairs(), CudaContext::kMostPairs);
}

TEST(PairLife, AStreamThatIsCapturingIsNotMarked) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  const CuStream other = kit.NewStream(0, kCuStreamNonBlocking);
  kit.Prepare(stream);
  ASSERT_EQ(TimeKernel(kit, other), std::nullopt);
  for (int mode : {0, 1, 2}) {
    ASSERT_EQ(kit.fake.BeginCapture(stream, mode), 0);
    EXPECT_EQ(TimeKernel(kit, stream), DeviceLoss::kCapture);
    // Another stream goes on, and so does the polling.
    EXPECT_EQ(TimeKernel(kit, other), std::nullopt);
    kit.RunFor(2 * kSecond, 10'000'000);
    // The legacy stream would wait for the one that is capturing.
    EXPECT_EQ(TimeKernel(kit, reinterpret_cast<CuStream>(uintptr_t{1})), DeviceLoss::kCapture);
    EXPECT_EQ(kit.fake.EndCapture(stream), 0);
    EXPECT_EQ(TimeKernel(kit, stream), std::nullopt);
  }
  kit.Settle();
  EXPECT_EQ(kit.fake.GetCounts().capture_violations, 0u);
  EXPECT_EQ(kit.fake.GetCounts().captures_invalidated, 0u);
  EXPECT_EQ(kit.fake.GetCounts().records_into_captures, 0u);
}

TEST(PairLife, ACaptureThatBeginsInsideOfAScopeTakesNoMarkIntoItsGraph) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  EXPECT_EQ(kit.Time(stream, [&] { kit.fake.BeginCapture(stream, 0); }), DeviceLoss::kCapture);
  EXPECT_EQ(kit.fake.EndCapture(stream), 0);
  EXPECT_EQ(kit.fake.GetCounts().records_into_captures, 0u);
  kit.RunFor(kSecond);
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created());
}

// An event that went into a graph in spite of all is never asked for a time, nor used again.
TEST(PairLife, AnEventThatWasCapturedIsReplaced) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  CudaTimer::Begun begun;
  ASSERT_EQ(kit.timer.Begin(stream, 1, &begun), std::nullopt);
  CudaContext& context = kit.timer.context(1);
  const CuEvent captured = context.event(EndMark(begun.pair));
  ASSERT_EQ(kit.fake.BeginCapture(stream, 2), 0);
  ASSERT_EQ(fake_cuda::Symbol<int(CuEvent, CuStream)>("cuEventRecord")(captured, stream), 0);
  ASSERT_EQ(kit.fake.EndCapture(stream), 0);
  kit.tracker->Submit({begun.pair, begun.place, 0, 0, 1});
  kit.Settle();
  ASSERT_NE(kit.ResultOf(1), nullptr);
  EXPECT_FALSE(kit.ResultOf(1)->timed);
  EXPECT_EQ(kit.ResultOf(1)->reason, DeviceLoss::kQueryFailed);
  kit.RunFor(kSecond);
  EXPECT_EQ(context.free_pairs(), context.created());
  EXPECT_NE(context.event(EndMark(begun.pair)), captured);
  EXPECT_EQ(kit.fake.GetCounts().events_destroyed, 0u);
}

TEST(PairLife, AMarkThatTheDriverRefusesCostsThisPairOnly) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int code : {kCuInvalidValue, kCuOutOfMemory, kCuInvalidHandle, kCuIllegalState}) {
    kit.fake.FailNext("cuEventRecord", code);
    EXPECT_EQ(TimeKernel(kit, stream), DeviceLoss::kRecordFailed) << code;
    kit.fake.FailNext("cuEventRecord", code, 1, 1);
    EXPECT_EQ(TimeKernel(kit, stream), DeviceLoss::kRecordFailed) << code;
    EXPECT_EQ(TimeKernel(kit, stream), std::nullopt) << code;
  }
  kit.Settle();
  kit.RunFor(kSecond);
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created());
}

// A query that fails for ever is not "not yet": the pair ends.
TEST(PairLife, AnyAnswerButYesAndNotYetEndsThePair) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  for (int code : {kCuInvalidValue, kCuInvalidHandle, kCuIllegalState, kCuCapturedEvent}) {
    uint64_t token = 0;
    kit.Pass();  // takes back what was given up before
    ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
    kit.fake.FailNext("cuEventQuery", code);
    kit.fake.AdvanceNs(1'000'000);
    kit.Pass();
    ASSERT_NE(kit.ResultOf(token), nullptr) << code;
    EXPECT_EQ(kit.ResultOf(token)->reason, DeviceLoss::kQueryFailed) << code;
  }
  uint64_t token = 0;
  kit.Pass();
  ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
  kit.fake.FailNext("cuEventElapsedTime", kCuInvalidHandle);
  kit.fake.AdvanceNs(1'000'000);
  kit.Pass();
  ASSERT_NE(kit.ResultOf(token), nullptr);
  EXPECT_EQ(kit.ResultOf(token)->reason, DeviceLoss::kQueryFailed);
  ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
  kit.Settle();
  EXPECT_TRUE(kit.ResultOf(token)->timed);
}

class TerminalError : public ::testing::TestWithParam<int> {};

TEST_P(TerminalError, EndsTheContextForGoodAndKeepsWhatHadBeenPassed) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  uint64_t passed = 0, running = 0;
  ASSERT_EQ(TimeKernel(kit, stream, &passed), std::nullopt);
  kit.fake.AdvanceNs(1'000'000);
  kit.Pass();
  kit.fake.Kernel(stream, kSecond);
  ASSERT_EQ(TimeKernel(kit, stream, &running), std::nullopt);
  kit.fake.LoseContext(kit.context(), GetParam());
  kit.Pass();
  kit.Pass();
  ASSERT_NE(kit.ResultOf(running), nullptr);
  EXPECT_EQ(kit.ResultOf(running)->reason, DeviceLoss::kDeviceLost);
  ASSERT_NE(kit.ResultOf(passed), nullptr);
  EXPECT_TRUE(kit.ResultOf(passed)->timed);
  EXPECT_TRUE(kit.tracker->idle());
  const uint64_t calls = kit.fake.Calls("cuEventRecord") + kit.fake.Calls("cuEventQuery");
  EXPECT_EQ(TimeKernel(kit, stream), DeviceLoss::kDeviceLost);
  kit.RunFor(kSecond);
  EXPECT_EQ(kit.fake.Calls("cuEventRecord") + kit.fake.Calls("cuEventQuery"), calls);
  // Another context is another matter.
  void* const context = kit.fake.NewContext(0);
  const auto other = static_cast<CuStream>(kit.fake.NewStream(context));
  kit.Prepare(other);
  uint64_t later = 0;
  ASSERT_EQ(TimeKernel(kit, other, &later), std::nullopt);
  kit.Settle();
  EXPECT_TRUE(kit.ResultOf(later)->timed);
}

INSTANTIATE_TEST_SUITE_P(Codes, TerminalError,
                         ::testing::Values(kCuDeinitialized, kCuEccUncorrectable, kCuNvlinkUncorrectable, kCuContained,
                                           kCuIllegalAddress, kCuLaunchTimeout, kCuContextIsDestroyed, kCuAssert,
                                           kCuHardwareStackError, 715, 716, 717, 718, kCuLaunchFailed,
                                           kCuMpsConnectionFailed, 807, kCuMpsClientTerminated, kCuUnknown));

TEST(PairLife, AContextThatIsDestroyedBehindOurBackIsForgotten) {
  DeviceKit kit;
  void* const context = kit.fake.RetainPrimary(0);
  const auto stream = static_cast<CuStream>(kit.fake.NewStream(context));
  kit.Prepare(stream);
  uint64_t token = 0;
  kit.fake.Kernel(stream, kSecond);
  ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
  kit.fake.ReleasePrimary(0);
  // The handle comes back with another identity, as after a reset of the device.
  ASSERT_EQ(kit.fake.RetainPrimary(0), context);
  const auto next = static_cast<CuStream>(kit.fake.NewStream(context));
  kit.Pass();
  ASSERT_NE(kit.ResultOf(token), nullptr);
  EXPECT_EQ(kit.ResultOf(token)->reason, DeviceLoss::kDeviceLost);
  // The stream's handle may be one that was known: its first marks are refused, then it is looked up again.
  std::optional<DeviceLoss> loss = DeviceLoss::kDeviceLost;
  for (int i = 0; i < 3 && loss; ++i) {
    loss = TimeKernel(kit, next, &token);
    kit.Pass();
  }
  EXPECT_EQ(loss, std::nullopt);
  kit.Settle();
  EXPECT_TRUE(kit.ResultOf(token)->timed);
  EXPECT_EQ(kit.fake.GetCounts().uses_after_destroy, 0u);
}

// As cudaDeviceReset does: the handle stays, what it stands for is another one. The default stream is known by it.
TEST(PairLife, ANewContextUnderALostOnesHandleIsTimedAgain) {
  DeviceKit kit;
  void* const context = kit.fake.RetainPrimary(0);
  kit.fake.MakeCurrent(context);
  const auto legacy = reinterpret_cast<CuStream>(uintptr_t{1});
  kit.Prepare(legacy);
  kit.fake.Kernel(legacy, kSecond);
  uint64_t token = 0;
  ASSERT_EQ(TimeKernel(kit, legacy, &token), std::nullopt);
  kit.fake.ReleasePrimary(0);
  ASSERT_EQ(kit.fake.RetainPrimary(0), context);
  kit.fake.MakeCurrent(context);
  kit.Pass();
  ASSERT_NE(kit.ResultOf(token), nullptr);
  EXPECT_EQ(kit.ResultOf(token)->reason, DeviceLoss::kDeviceLost);
  std::optional<DeviceLoss> loss = DeviceLoss::kDeviceLost;
  for (int i = 0; i < 3 && loss; ++i) {
    loss = TimeKernel(kit, legacy, &token);
    kit.Pass();
  }
  EXPECT_EQ(loss, std::nullopt);
  kit.Settle();
  EXPECT_TRUE(kit.ResultOf(token)->timed);
}

TEST(PairLife, OfAStreamThatIsStuckOnlyWhatIsStuckIsGivenUp) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  CudaTimer::Begun begun;
  ASSERT_EQ(kit.timer.Begin(stream, 1, &begun), std::nullopt);
  kit.fake.DestroyStream(stream);
  ASSERT_EQ(kit.timer.End(stream, begun.pair), std::nullopt);
  kit.tracker->Submit({begun.pair, begun.place, kit.fake.NowNs(), kit.fake.NowNs(), 1});
  // The next stream gets the handle, and with it the place.
  ASSERT_EQ(kit.NewStream(), stream);
  kit.tokens = 1;
  uint64_t token = 0;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
  kit.RunFor(61 * kSecond, kSecond / 4);
  kit.Settle();
  EXPECT_EQ(kit.ResultOf(1)->reason, DeviceLoss::kTimeout);
  for (uint64_t i = 2; i <= token; ++i) EXPECT_TRUE(kit.ResultOf(i)->timed) << i;
}

TEST(PairLife, StreamsThatComeAndGoForEverCostNoMoreThanTheFirst) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  const auto per_thread = reinterpret_cast<CuStream>(uintptr_t{2});
  uint64_t calls = 0;
  for (uint32_t thread = 1; thread <= 20'000; ++thread) {
    CudaTimer::Begun begun;
    const uint64_t before = kit.fake.Calls(nullptr);
    ASSERT_EQ(kit.timer.Begin(per_thread, thread, &begun), std::nullopt);
    ASSERT_EQ(kit.timer.End(per_thread, begun.pair), std::nullopt);
    if (thread > 1'000) calls = std::max(calls, kit.fake.Calls(nullptr) - before);
    kit.tracker->Submit({begun.pair, begun.place, kit.fake.NowNs(), kit.fake.NowNs(), thread});
    kit.fake.AdvanceNs(100'000);
    kit.Pass();
  }
  // Two marks, a look at the capture before each, and one at the current context.
  EXPECT_EQ(calls, 5u);
}

TEST(PairLife, StreamsWithoutANumberOfTheDriversGetDifferentOnesInAllContexts) {
  DeviceKit kit;
  CudaContext first(nullptr, nullptr, {});
  CudaContext second(nullptr, nullptr, {});
  std::set<int32_t> numbers;
  for (CudaContext* context : {&first, &second}) {
    numbers.insert(context->Stream(context->PlaceOf(0x7f0000001000, 0, "")).stream);
    numbers.insert(context->Stream(context->PlaceOf(0x7f0000002000, 0, "")).stream);
    numbers.insert(context->Stream(context->PlaceOf(0x7f0000003000, 1, "")).stream);
  }
  EXPECT_EQ(numbers.size(), 5u);
}

TEST(PairLife, AStreamThatWasDestroyedIsGivenUpAfterAMinuteOfSilence) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  const CuStream other = kit.NewStream();
  kit.Prepare(stream);
  CudaTimer::Begun begun;
  ASSERT_EQ(kit.timer.Begin(stream, 1, &begun), std::nullopt);
  kit.fake.DestroyStream(stream);
  ASSERT_EQ(kit.timer.End(stream, begun.pair), std::nullopt);
  kit.tracker->Submit({begun.pair, begun.place, kit.fake.NowNs(), kit.fake.NowNs(), 1});
  kit.RunFor(59 * kSecond, kSecond / 4);
  EXPECT_EQ(kit.ResultOf(1), nullptr);
  kit.RunFor(2 * kSecond, kSecond / 4);
  ASSERT_NE(kit.ResultOf(1), nullptr);
  EXPECT_EQ(kit.ResultOf(1)->reason, DeviceLoss::kTimeout);
  // Its events are not used again while nobody knows what became of them; others are.
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created() - 1);
  kit.tokens = 1;
  uint64_t token = 0;
  ASSERT_EQ(TimeKernel(kit, other, &token), std::nullopt);
  kit.Settle();
  EXPECT_TRUE(kit.ResultOf(token)->timed);
}

TEST(PairLife, AStampThatGoesBackwardsMakesAnEmptyIntervalThatIsCounted) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  uint64_t token = 0;
  ASSERT_EQ(kit.Time(stream, [&] { kit.fake.StepDeviceClockNs(0, -2'000'000); }, &token), std::nullopt);
  kit.Settle();
  ASSERT_NE(kit.ResultOf(token), nullptr);
  EXPECT_TRUE(kit.ResultOf(token)->timed);
  EXPECT_GE(kit.ResultOf(token)->end_ns, kit.ResultOf(token)->start_ns);
  EXPECT_EQ(kit.tracker->counts().negative, 1u);
}

TEST(PairLife, WhatIsLeftAtTheEndIsGivenUpAndComesBackLater) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  kit.fake.Kernel(stream, kSecond);
  uint64_t token = 0;
  ASSERT_EQ(TimeKernel(kit, stream, &token), std::nullopt);
  kit.Pass();
  kit.GiveUp();
  ASSERT_NE(kit.ResultOf(token), nullptr);
  EXPECT_EQ(kit.ResultOf(token)->reason, DeviceLoss::kAbandonedAtStop);
  EXPECT_TRUE(kit.tracker->idle());
  kit.RunFor(2 * kSecond, 100'000'000);
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created());
}

TEST(PairLife, EventsOfManySessionsAreNotMoreThanThoseOfOne) {
  DeviceKit kit;
  const CuStream stream = kit.NewStream();
  kit.Prepare(stream);
  uint64_t created = 0;
  for (int session = 0; session < 300; ++session) {
    kit.tracker = std::make_unique<PairTracker>(PairTracker::Config(), &kit.timer, [&] { return kit.fake.NowNs(); });
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(TimeKernel(kit, stream), std::nullopt);
      kit.RunFor(30'000'000);
    }
    kit.GiveUp();
    if (session == 0) created = kit.fake.GetCounts().events_created;
  }
  EXPECT_LE(kit.fake.GetCounts().events_created, created + 16);
}

TEST(PairLife, AnOlderDriverThatOnlyKnowsTheFirstNamesWillDo) {
  DeviceKit kit;
  kit.fake.Reset();
  kit.fake.SetDriverVersion(11'000);
  kit.fake.Initialize();
  CudaTimer timer;
  ASSERT_TRUE(timer.Open(fake_cuda::Load().path)) << timer.status().text;
  void* const context = kit.fake.NewContext(0);
  const auto stream = static_cast<CuStream>(kit.fake.NewStream(context));
  bool has_pairs = false;
  EXPECT_EQ(timer.Look(stream, 1, &has_pairs), std::nullopt);
}

}  // namespace
}  // namespace ferret::internal
