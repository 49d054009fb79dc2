// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the fake driver counts against a program.
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

using FakeCudaAccounts = FakeCudaTest;

int Tid() { return static_cast<int>(syscall(SYS_gettid)); }

TEST_F(FakeCudaAccounts, FollowEventsFromCreationToDestruction) {
  void* const first = NewEvent();
  void* const second = NewEvent();
  EXPECT_EQ(Cu("cuEventDestroy_v2", first), 0);
  NewEvent();
  const Counts counts = fake_.GetCounts();
  EXPECT_EQ(counts.events_created, 3U);
  EXPECT_EQ(counts.events_destroyed, 1U);
  EXPECT_EQ(counts.events_alive, 2U);
  EXPECT_EQ(counts.events_alive_max, 2U);
  EXPECT_EQ(fake_.Calls("cuEventCreate"), 3U);
  EXPECT_EQ(fake_.Calls("cuEventDestroy"), 1U) << "all variants of a function are counted together";
  EXPECT_EQ(fake_.Calls(nullptr), 4U);
  EXPECT_EQ(fake_.EventsCreatedBy(Tid()), 3U);
  EXPECT_EQ(fake_.EventsCreatedBy(Tid() + 1), 0U);
  EXPECT_EQ(Cu("cuEventQuery", second), 0);
}

TEST_F(FakeCudaAccounts, NoticeUsesAfterDestructionAndDoubleDestruction) {
  void* const event = NewEvent();
  Cu("cuEventDestroy_v2", event);
  EXPECT_EQ(Cu("cuEventRecord", event, stream_), 400);
  EXPECT_EQ(Cu("cuEventQuery", event), 400);
  EXPECT_EQ(Cu("cuEventDestroy_v2", event), 400);
  EXPECT_EQ(Cu("cuEventQuery", kNull), 400) << "never an event: no use after destruction";
  EXPECT_EQ(fake_.GetCounts().uses_after_destroy, 2U);
  EXPECT_EQ(fake_.GetCounts().double_destroys, 1U);
  EXPECT_NE(NewEvent(), event);
}

TEST_F(FakeCudaAccounts, NoticeRecordsThatNobodyRead) {
  void* const start = RecordedEvent(stream_);
  void* const end = RecordedEvent(stream_);
  ElapsedMs(start, end);
  Cu("cuEventRecord", start, stream_);
  EXPECT_EQ(fake_.GetCounts().rerecords_of_unread, 0U);
  Cu("cuEventRecord", start, stream_);
  EXPECT_EQ(fake_.GetCounts().rerecords_of_unread, 1U);
}

TEST_F(FakeCudaAccounts, NameTheCallsOfForbiddenThreads) {
  std::thread([&] {
    fake_.ForbidThread(Tid());
    int version;
    Cu("cuDriverGetVersion", &version);
    Cu("cuEventQuery", kNull);
    Cu("cuEventQuery", kNull);
    fake_.ForbidThread(Tid(), false);
    Cu("cuStreamQuery", stream_);
  }).join();
  NewEvent();
  EXPECT_EQ(fake_.GetCounts().forbidden_calls, 3U);
  EXPECT_EQ(fake_.ForbiddenCalls(), std::string("cuDriverGetVersion, cuEventQuery"));
}

TEST_F(FakeCudaAccounts, AddUpOverManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      fake_.MakeCurrent(context_);
      void* const start = NewEvent();
      void* const end = NewEvent();
      for (int round = 0; round < 500; ++round) {
        Cu("cuEventRecord", start, stream_);
        fake_.Kernel(stream_, 10);
        Cu("cuEventRecord", end, stream_);
        Cu("cuEventSynchronize", end);
        EXPECT_GE(ElapsedMs(start, end), 0);
      }
      Cu("cuEventDestroy_v2", start);
      Cu("cuEventDestroy_v2", end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Counts counts = fake_.GetCounts();
  EXPECT_EQ(counts.records, 4000U);
  EXPECT_EQ(counts.events_alive, 0U);
  EXPECT_EQ(counts.rerecords_of_unread, 0U);
  EXPECT_EQ(fake_.Calls("cuEventElapsedTime"), 2000U);
}

TEST_F(FakeCudaAccounts, StartAnewWithReset) {
  void* const event = RecordedEvent(stream_);
  fake_.SetLatencyNs(nullptr, 10);
  fake_.Reset();
  EXPECT_EQ(fake_.GetCounts().events_created, 0U);
  EXPECT_EQ(fake_.Calls(nullptr), 0U);
  fake_.MakeCurrent(fake_.NewContext(0));
  EXPECT_NE(NewEvent(), event) << "handles of before name nothing new";
  EXPECT_EQ(fake_.NowNs(), 1'000'000'000);
  EXPECT_EQ(Cu("cuEventQuery", event), 400);
}

}  // namespace
}  // namespace fake_cuda
