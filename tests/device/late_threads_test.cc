// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads that are in the middle of something when a session stops: no pair is lost to the pool, no count goes wrong.

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/device/cuda/cuda_session.h"
#include "runtime/device/device_thread.h"
#include "tests/device/cuda_session_kit.h"

namespace ferret {
namespace {

using internal::CudaTimer;
using internal::DeviceThread;
using internal::SubmittedPair;

std::chrono::steady_clock::time_point In60s() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

TEST(LateThreads, APairThatIsHandedInAfterTheEndStaysWithWhoHandsItIn) {
  CudaSessions sessions;
  CudaTimer timer;
  WakeSignal wake;
  DeviceThread::Config config;
  config.now = [&] { return sessions.fake.NowNs(); };
  config.open = [&] { return timer.Open(fake_cuda::Load().path) ? &timer : nullptr; };
  config.wake = &wake;
  DeviceThread thread(config);
  ASSERT_TRUE(thread.Start());
  std::vector<SubmittedPair> none;
  EXPECT_TRUE(thread.Submit(&none));
  ASSERT_TRUE(thread.Stop(In60s()));
  std::vector<SubmittedPair> late(3);
  EXPECT_FALSE(thread.Submit(&late));
  EXPECT_EQ(late.size(), 3u);
  EXPECT_TRUE(thread.Settle(In60s())) << "there is nothing to wait for";
}

// Whatever the order of passes and the stop, each pair that was handed in is in the pool again.
TEST(LateThreads, PairsHandedInBesideTheStopGoBackToThePool) {
  CudaSessions sessions;
  CudaTimer timer;
  const cuda::Stream stream = sessions.NewStream(sessions.NewContext());
  ASSERT_TRUE(timer.Open(fake_cuda::Load().path));
  WakeSignal wake;
  for (int round = 0; round < 200; ++round) {
    DeviceThread::Config config;
    config.now = [&] { return sessions.fake.NowNs(); };
    config.open = [&timer] { return &timer; };
    config.wake = &wake;
    DeviceThread thread(config);
    ASSERT_TRUE(thread.Start());
    bool has_pairs = false;
    while (!has_pairs) {
      ASSERT_EQ(timer.Look(stream, 1, &has_pairs), std::nullopt);
      wake.Wake();
    }
    std::thread drain([&] {
      for (int i = 0; i < 20; ++i) {
        CudaTimer::Begun begun;
        if (timer.Begin(stream, 1, &begun) || timer.End(stream, begun.pair)) continue;
        std::vector<SubmittedPair> pairs = {{begun.pair, begun.place, sessions.fake.NowNs(), sessions.fake.NowNs(), 0}};
        if (thread.Submit(&pairs)) continue;
        for (const SubmittedPair& pair : pairs) timer.GiveUp(pair.pair);
      }
    });
    ASSERT_TRUE(thread.Stop(In60s()));
    drain.join();
  }
  const auto& context = timer.context(1);
  for (int i = 0; i < 10'000 && context.free_pairs() != context.created(); ++i) timer.Maintain();
  EXPECT_EQ(context.free_pairs(), context.created());
}

// It is stuck in the driver from one session into the next one: it counts where it asked.
TEST(LateThreads, AnOutcomeThatComesASessionLateIsNotTheNextOnes) {
  CudaSessions sessions;
  const cuda::Stream stream = sessions.NewStream(sessions.NewContext());
  sessions.Start();
  ASSERT_TRUE(cuda::Prepare(stream));
  sessions.fake.HangNext("cuStreamIsCapturing");
  std::thread late([&] { FERRET_CUDA_SCOPE(stream, "late"); });
  sessions.fake.WaitUntilHung("cuStreamIsCapturing");
  ExpectExactDevices(1, sessions.Stop());
  EXPECT_EQ(DeviceLosses().late, 1u);
  sessions.Start();
  sessions.fake.ReleaseHangs();
  late.join();
  ExpectExactDevices(0, sessions.Stop());
}

// The first scope has a thread started, which a stop at that moment must not miss.
TEST(LateThreads, ASessionCanStopAtAnyMomentAfterItsFirstScope) {
  CudaSessions sessions;
  const cuda::Stream stream = sessions.NewStream(sessions.NewContext());
  for (int i = 0; i < 150; ++i) {
    sessions.Start();
    { FERRET_CUDA_SCOPE(stream, "scope"); }
    for (const int64_t until = sessions.fake.NowNs() + 2'000 * i; sessions.fake.NowNs() < until;) continue;
    ExpectExactDevices(1, sessions.Stop());
  }
}

// A deadline that is missed because the machine is busy is no reason to time nothing ever after.
TEST(LateThreads, AThreadThatWasLeftBehindAndCameBackKeepsNobodyFromTiming) {
  CudaSessions sessions;
  const cuda::Stream stream = sessions.NewStream(sessions.NewContext());
  sessions.Start();
  ASSERT_TRUE(cuda::Prepare(stream));
  sessions.fake.HangNext("cuEventQuery");
  { FERRET_CUDA_SCOPE(stream, "scope"); }
  sessions.fake.WaitUntilHung("cuEventQuery");
  (void)StopSession(absl::Milliseconds(100));
  sessions.Start();
  EXPECT_FALSE(cuda::Prepare(stream)) << "it hangs still";
  sessions.Stop();
  sessions.fake.ReleaseHangs();
  bool timed = false;
  for (int i = 0; i < 1'000 && !timed; ++i) {
    sessions.Start();
    timed = cuda::Prepare(stream);
    sessions.Stop();
  }
  EXPECT_TRUE(timed);
}

TEST(LateThreads, ADeviceThreadThatCannotRelaxItsCaptureModeAsksNothing) {
  CudaSessions sessions;
  const cuda::Stream stream = sessions.NewStream(sessions.NewContext());
  sessions.fake.FailAlways("cuThreadExchangeStreamCaptureMode", 1);
  sessions.Start();
  EXPECT_FALSE(cuda::Prepare(stream));
  { FERRET_CUDA_SCOPE(stream, "scope"); }
  ExpectExactDevices(1, sessions.Stop());
  EXPECT_EQ(DeviceLosses()[DeviceLoss::kDeviceLost], 1u);
  EXPECT_EQ(sessions.fake.Calls("cuEventQuery") + sessions.fake.Calls("cuEventCreate"), 0u);
}

}  // namespace
}  // namespace ferret
