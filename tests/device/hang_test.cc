// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A driver whose call does not return keeps the device thread, and nobody else. Each case is a process of its own: after
// a hang there is no CUDA timing in it any more.

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/device/cuda_session_kit.h"

namespace ferret {
namespace {

constexpr auto kDeadline = std::chrono::seconds(2);
// For a machine that is busy with other tests. What has no bound would take for ever.
constexpr auto kMargin = std::chrono::seconds(15);

uint64_t CountNamed(const CollectedTrace& trace, const std::string& name) {
  uint64_t count = 0;
  for (const FunctionEvent& event : trace.events) count += event.device_type == DeviceType::kCpu && event.name == name;
  return count;
}

// What happens in the process; its checks are GoogleTest's. `provoke`: brings the device thread to the function.
void Hang(const std::string& function, const std::function<void(CudaSessions&, cuda::Stream)>& provoke, bool prepared) {
  CudaSessions sessions;
  void* const context = sessions.NewContext();
  const cuda::Stream stream = sessions.NewStream(context);
  sessions.Start();
  uint64_t asked = 0;
  if (prepared) {
    EXPECT_TRUE(cuda::Prepare(stream));
    { const cuda::Scope scope(stream, "before"); }
    ++asked;
    // It is known: what hangs later does so in the middle of a session.
    const absl::Time until = absl::Now() + absl::Seconds(30);
    while (DeviceLosses().timed != 1 && absl::Now() < until) EXPECT_EQ(Flush(60'000), "");
    EXPECT_EQ(DeviceLosses().timed, 1u);
  }
  sessions.fake.HangNext(function.c_str());
  {
    const cuda::Scope scope(stream, "provokes");
    ++asked;
  }
  provoke(sessions, stream);
  sessions.fake.WaitUntilHung(function.c_str());

  // Recording goes on, and what was recorded is delivered.
  for (int i = 0; i < 1000; ++i) {
    const cuda::Scope scope(stream, "while it hangs");
    ++asked;
  }
  EXPECT_EQ(Flush(60'000), "");
  EXPECT_EQ(CountNamed(sessions.collector->Take(), "while it hangs"), 1000u);
  EXPECT_EQ(sessions.fake.HungThreads(), 1);

  { const cuda::Scope scope(stream, "last"); }
  ++asked;
  const auto start = std::chrono::steady_clock::now();
  (void)StopSession(absl::FromChrono(kDeadline));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kDeadline + kMargin);
  EXPECT_EQ(sessions.fake.HungThreads(), 1);
  EXPECT_EQ(CountNamed(sessions.collector->Take(), "last"), 1u);
  DeviceCounts counts = DeviceLosses();
  EXPECT_EQ(counts.asked, asked);
  EXPECT_EQ(counts.asked, counts.timed + counts.total_lost());
  EXPECT_EQ(counts.timed, prepared ? 1u : 0u);
  EXPECT_EQ(counts[DeviceLoss::kAbandonedAtStop] + counts[DeviceLoss::kPoolExhausted], counts.total_lost());
  if (prepared) {
    EXPECT_GT(counts[DeviceLoss::kAbandonedAtStop], 0u);
  }

  // Later sessions are whole but for CUDA.
  for (int i = 0; i < 2; ++i) {
    sessions.Start();
    { const cuda::Scope scope(stream, "later"); }
    EXPECT_FALSE(cuda::Prepare(stream));
    EXPECT_EQ(CountNamed(sessions.Stop(), "later"), 1u);
    counts = DeviceLosses();
    EXPECT_EQ(counts.asked, 1u);
    EXPECT_EQ(counts[DeviceLoss::kDisabled], 1u);
  }
  // So that sanitizers see the process end with no thread in the middle of something.
  sessions.fake.ReleaseHangs();
}

void Nothing(CudaSessions&, cuda::Stream) {}
void Prepare(CudaSessions&, cuda::Stream stream) { cuda::Prepare(stream); }

#define FERRET_HANG_TEST(name, function, provoke, prepared)                                                      \
  TEST(HangDeathTest, name) {                                                                                    \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                                              \
    EXPECT_EXIT({ Hang(function, provoke, prepared); std::exit(testing::Test::HasFailure() ? 1 : 0); },          \
                testing::ExitedWithCode(0), "");                                                                 \
  }

FERRET_HANG_TEST(APollThatHangsKeepsNobody, "cuEventQuery", Nothing, true)
FERRET_HANG_TEST(AnElapsedTimeThatHangsKeepsNobody, "cuEventElapsedTime", Nothing, true)
FERRET_HANG_TEST(APushOfAContextThatHangsKeepsNobody, "cuCtxPushCurrent", Nothing, true)
FERRET_HANG_TEST(AChangeOfTheCaptureModeThatHangsKeepsNobody, "cuThreadExchangeStreamCaptureMode", Nothing, true)
FERRET_HANG_TEST(TheMakingOfEventsThatHangsKeepsNobody, "cuEventCreate", Prepare, false)
FERRET_HANG_TEST(TheMakingOfAStreamThatHangsKeepsNobody, "cuStreamCreateWithPriority", Prepare, false)
// Of the first anchor: no scope has a pair by then.
FERRET_HANG_TEST(TheRecordingOfAnAnchorThatHangsKeepsNobody, "cuEventRecord", Prepare, false)
FERRET_HANG_TEST(TheFirstQuestionThatHangsKeepsNobody, "cuDeviceGetCount", Nothing, false)

}  // namespace
}  // namespace ferret
