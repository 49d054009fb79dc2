// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Failures and hangs of the fake driver.
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

using FakeCudaFaults = FakeCudaTest;

TEST_F(FakeCudaFaults, AreInjectedIntoChosenCalls) {
  void* const event = RecordedEvent(stream_);
  fake_.FailNext("cuEventQuery", 999, 2, 1);
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 999);
  EXPECT_EQ(Cu("cuEventQuery", event), 999);
  EXPECT_EQ(Cu("cuEventQuery", event), 0);

  fake_.FailNext("cuEventCreate", 2);
  void* created = &fake_;
  EXPECT_EQ(Cu("cuEventCreate", &created, 0U), 2);
  EXPECT_EQ(created, &fake_);
  EXPECT_EQ(fake_.GetCounts().events_created, 1U) << "a call that fails has no effect";
}

TEST_F(FakeCudaFaults, LastUntilTheyAreStopped) {
  fake_.FailAlways(nullptr, 4);
  int version;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Cu("cuDriverGetVersion", &version), 4);
  EXPECT_EQ(Cu("cuStreamQuery", stream_), 4);
  fake_.StopFailing();
  EXPECT_EQ(Cu("cuDriverGetVersion", &version), 0);
}

TEST_F(FakeCudaFaults, OfALostDeviceStick) {
  void* const event = RecordedEvent(stream_);
  fake_.LoseDevice(0, 700);
  void* created = &fake_;
  float ms;
  uint64_t id;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Cu("cuEventQuery", event), 700);
    EXPECT_EQ(Cu("cuEventRecord", event, stream_), 700);
    EXPECT_EQ(Cu("cuEventElapsedTime", &ms, event, event), 700);
    EXPECT_EQ(Cu("cuEventSynchronize", event), 700);
    EXPECT_EQ(Cu("cuEventDestroy_v2", event), 700);
    EXPECT_EQ(Cu("cuEventCreate", &created, 0U), 700);
    EXPECT_EQ(Cu("cuStreamSynchronize", stream_), 700);
    EXPECT_EQ(Cu("cuCtxSynchronize"), 700);
    EXPECT_EQ(Cu("cuCtxGetId", context_, &id), 700);
  }
}

TEST_F(FakeCudaFaults, OfOneContextLeaveOthersAlone) {
  void* const other = fake_.NewContext(0);
  fake_.LoseContext(other, 719);
  EXPECT_EQ(Cu("cuStreamQuery", stream_), 0);
  EXPECT_EQ(Cu("cuStreamQuery", fake_.NewStream(other)), 719);
}

TEST_F(FakeCudaFaults, CanBeHangsWhichStopNobodyElse) {
  void* const event = RecordedEvent(stream_);
  fake_.HangNext("cuEventQuery");
  std::atomic<int> result{-1};
  std::thread hanging([&] { result = Cu("cuEventQuery", event); });
  fake_.WaitUntilHung("cuEventQuery");
  EXPECT_EQ(fake_.HungThreads(), 1);
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
  EXPECT_EQ(Cu("cuEventRecord", NewEvent(), stream_), 0);
  EXPECT_EQ(result, -1);
  fake_.ReleaseHangs();
  hanging.join();
  EXPECT_EQ(result, 0) << "it goes on where it hung";
  EXPECT_EQ(fake_.HungThreads(), 0);
}

TEST_F(FakeCudaFaults, ThatHangEndWithReset) {
  void* const event = RecordedEvent(stream_);
  fake_.HangNext(nullptr);
  int result = -1;
  std::thread hanging([&] { result = Cu("cuEventQuery", event); });
  fake_.WaitUntilHung(nullptr);
  fake_.Reset();
  hanging.join();
  EXPECT_EQ(result, 3) << "it goes on in a driver that is not initialised";
}

}  // namespace
}  // namespace fake_cuda
