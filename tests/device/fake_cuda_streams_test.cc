// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams and contexts of the fake driver.
#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

void* const kLegacy = reinterpret_cast<void*>(1);
void* const kPerThread = reinterpret_cast<void*>(2);

class FakeCudaStreams : public FakeCudaTest {
 protected:
  static uint64_t IdOf(void* stream) {
    uint64_t id = 0;
    EXPECT_EQ(Cu("cuStreamGetId", stream, &id), 0);
    return id;
  }
};

TEST_F(FakeCudaStreams, RunTheirWorkInOrderAndBesideEachOther) {
  void* const other = fake_.NewStream(context_);
  const int64_t now = fake_.NowNs();
  fake_.Kernel(stream_, 100);
  fake_.Kernel(stream_, 50);
  fake_.Kernel(other, 30);
  EXPECT_EQ(fake_.ReadyAtNs(stream_), now + 150);
  EXPECT_EQ(fake_.ReadyAtNs(other), now + 30);
  EXPECT_EQ(Cu("cuStreamQuery", stream_), 600);
  EXPECT_EQ(Cu("cuStreamSynchronize", other), 0);
  EXPECT_EQ(fake_.NowNs(), now + 30);
  EXPECT_EQ(Cu("cuCtxSynchronize"), 0);
  EXPECT_EQ(fake_.NowNs(), now + 150);
  EXPECT_EQ(Cu("cuStreamQuery", stream_), 0);
}

TEST_F(FakeCudaStreams, ThatBlockJoinTheLegacyStream) {
  void* const free = fake_.NewStream(context_, 1);
  const int64_t now = fake_.NowNs();
  fake_.Kernel(stream_, 100);
  fake_.Kernel(free, 1'000);
  EXPECT_EQ(StampNs(RecordedEvent(kLegacy)), now + 100) << "after the blocking streams, not the others";
  fake_.Kernel(kLegacy, 50);
  fake_.Kernel(stream_, 1);
  EXPECT_EQ(fake_.ReadyAtNs(stream_), now + 151);
  EXPECT_EQ(fake_.ReadyAtNs(free), now + 1'000);
}

TEST_F(FakeCudaStreams, NumberZeroIsWhatTheVariantSays) {
  fake_.Kernel(kPerThread, 500);
  void* const legacy = NewEvent();
  void* const own = NewEvent();
  std::thread([&] {
    fake_.MakeCurrent(context_);
    EXPECT_EQ(Cu("cuEventRecord_ptsz", own, kNull), 0);
  }).join();
  EXPECT_EQ(Cu("cuEventRecord", legacy, kNull), 0);
  EXPECT_EQ(StampNs(own), fake_.NowNs()) << "another thread's default stream is another stream";
  EXPECT_EQ(StampNs(legacy), fake_.NowNs() + 500);
  fake_.MakeCurrent(nullptr);
  EXPECT_EQ(Cu("cuEventRecord", legacy, kNull), 201);
}

TEST_F(FakeCudaStreams, HandOutTheHandleThatWasDestroyedLast) {
  const uint64_t id = IdOf(stream_);
  EXPECT_EQ(Cu("cuStreamDestroy_v2", stream_), 0);
  EXPECT_EQ(Cu("cuStreamDestroy_v2", stream_), 400);
  EXPECT_EQ(fake_.GetCounts().double_destroys, 1U);
  void* next = nullptr;
  EXPECT_EQ(Cu("cuStreamCreateWithPriority", &next, 1U, -1), 0);
  EXPECT_EQ(next, stream_);
  EXPECT_NE(IdOf(next), id);
}

TEST_F(FakeCudaStreams, OnceDestroyedNeverReachTheirEvents) {
  fake_.DestroyStream(stream_);
  int status = -1;
  EXPECT_EQ(Cu("cuStreamIsCapturing", stream_, &status), 0);
  void* const event = RecordedEvent(stream_);
  fake_.AdvanceNs(int64_t{3600} * 1'000'000'000);
  EXPECT_EQ(Cu("cuEventQuery", event), 600);
  int64_t ns;
  EXPECT_FALSE(fake_.StampNs(event, &ns));
  EXPECT_EQ(fake_.GetCounts().records_on_destroyed_streams, 1U);
}

TEST_F(FakeCudaStreams, KnowTheirContexts) {
  void* context = nullptr;
  void* green = &context;
  fake_.MakeCurrent(nullptr);
  EXPECT_EQ(Cu("cuStreamGetCtx", stream_, &context), 0);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(Cu("cuStreamGetCtx_v2", stream_, &context, &green), 0);
  EXPECT_EQ(green, nullptr);
  EXPECT_EQ(Cu("cuStreamGetCtx", kLegacy, &context), 201);
  fake_.SetStreamGreen(stream_, true);
  EXPECT_EQ(Cu("cuStreamGetCtx_v2", stream_, &context, &green), 0);
  EXPECT_NE(green, nullptr);
  fake_.MakeCurrent(fake_.NewContext(0, /*green=*/true));
  EXPECT_EQ(Cu("cuStreamGetCtx", kPerThread, &context), 400);
  EXPECT_EQ(Cu("cuStreamGetCtx", kNull, &context), 0);
}

using FakeCudaContexts = FakeCudaStreams;

TEST_F(FakeCudaContexts, StackUpPerThread) {
  void* const second = fake_.NewContext(0);
  void* current = nullptr;
  EXPECT_EQ(Cu("cuCtxPushCurrent_v2", second), 0);
  EXPECT_EQ(Cu("cuCtxGetCurrent", &current), 0);
  EXPECT_EQ(current, second);
  std::thread([] {
    void* elsewhere = &elsewhere;
    EXPECT_EQ(Cu("cuCtxGetCurrent", &elsewhere), 0);
    EXPECT_EQ(elsewhere, nullptr);
    int device = 9;
    EXPECT_EQ(Cu("cuCtxGetDevice", &device), 201);
    EXPECT_EQ(device, 9);
  }).join();
  EXPECT_EQ(Cu("cuCtxPopCurrent_v2", &current), 0);
  EXPECT_EQ(current, second);
  EXPECT_EQ(Cu("cuCtxPopCurrent_v2", &current), 0);
  EXPECT_EQ(current, context_);
  EXPECT_EQ(Cu("cuCtxPopCurrent_v2", &current), 201);
}

TEST_F(FakeCudaContexts, ThatArePrimaryComeBackWithTheirHandleAndAnotherId) {
  unsigned flags;
  int active = -1;
  EXPECT_EQ(Cu("cuDevicePrimaryCtxGetState", 0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
  void* primary = nullptr;
  EXPECT_EQ(Cu("cuDevicePrimaryCtxRetain", &primary, 0), 0);
  EXPECT_EQ(fake_.RetainPrimary(0), primary);
  const uint64_t id = fake_.ContextId(primary);
  EXPECT_EQ(Cu("cuDevicePrimaryCtxRelease_v2", 0), 0);
  EXPECT_EQ(Cu("cuDevicePrimaryCtxGetState", 0, &flags, &active), 0);
  EXPECT_EQ(active, 1) << "one use is left";
  fake_.ReleasePrimary(0);
  EXPECT_EQ(Cu("cuDevicePrimaryCtxGetState", 0, &flags, &active), 0);
  EXPECT_EQ(active, 0);
  uint64_t now;
  EXPECT_EQ(Cu("cuCtxGetId", primary, &now), 709);
  EXPECT_EQ(fake_.RetainPrimary(0), primary);
  EXPECT_EQ(Cu("cuCtxGetId", primary, &now), 0);
  EXPECT_NE(now, id);
}

TEST_F(FakeCudaContexts, TakeTheirEventsWithThem) {
  void* const event = RecordedEvent(stream_);
  EXPECT_EQ(Cu("cuCtxDestroy_v2", context_), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 709);
  EXPECT_EQ(Cu("cuEventRecord", event, stream_), 709);
  EXPECT_EQ(Cu("cuEventDestroy_v2", event), 709);
  EXPECT_EQ(fake_.GetCounts().events_alive, 0U);
  EXPECT_EQ(fake_.GetCounts().events_destroyed, 0U);
}

TEST_F(FakeCudaContexts, AreMadeByTheProgramAsWell) {
  void* context = nullptr;
  EXPECT_EQ(Cu("cuCtxCreate_v2", &context, 0U, 0), 0);
  void* current = nullptr;
  Cu("cuCtxGetCurrent", &current);
  EXPECT_EQ(current, context);
  int least = 1;
  int greatest = 1;
  EXPECT_EQ(Cu("cuCtxGetStreamPriorityRange", &least, &greatest), 0);
  EXPECT_LT(greatest, least);
  EXPECT_EQ(Cu("cuCtxCreate_v2", &context, 0U, 1), 101);
}

}  // namespace
}  // namespace fake_cuda
