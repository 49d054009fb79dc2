// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Captures in the fake driver: which calls they forbid to whom, and what becomes of records.
#include <thread>

#include "gtest/gtest.h"
#include "tests/device/fake_cuda_fixture.h"

namespace fake_cuda {
namespace {

constexpr int kGlobalMode = 0;
constexpr int kThreadLocalMode = 1;
constexpr int kRelaxedMode = 2;

class FakeCudaCapture : public FakeCudaTest {
 protected:
  // What a query gives on another thread in this mode.
  int QueryElsewhere(void* event, int mode) {
    int result = -1;
    std::thread([&] {
      Cu("cuThreadExchangeStreamCaptureMode", &mode);
      result = Cu("cuEventQuery", event);
    }).join();
    return result;
  }
  int StatusOf(void* stream) {
    int status = -1;
    EXPECT_EQ(Cu("cuStreamIsCapturing", stream, &status), 0);
    return status;
  }
};

TEST_F(FakeCudaCapture, OfGlobalModeForbidsQueriesToAllButRelaxedAndThreadLocalThreads) {
  void* const event = RecordedEvent(stream_);
  fake_.SetViolationsInvalidate(false);
  ASSERT_EQ(fake_.BeginCapture(stream_, kGlobalMode), 0);
  EXPECT_EQ(QueryElsewhere(event, kGlobalMode), 900);
  EXPECT_EQ(QueryElsewhere(event, kThreadLocalMode), 0);
  EXPECT_EQ(QueryElsewhere(event, kRelaxedMode), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 900);
  int mode = kRelaxedMode;
  EXPECT_EQ(Cu("cuThreadExchangeStreamCaptureMode", &mode), 0);
  EXPECT_EQ(mode, kGlobalMode) << "the mode before comes back";
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
  EXPECT_EQ(fake_.GetCounts().capture_violations, 2U);
  EXPECT_EQ(fake_.EndCapture(stream_), 0);
}

TEST_F(FakeCudaCapture, OfThreadLocalModeForbidsQueriesToItsOwnThread) {
  void* const event = RecordedEvent(stream_);
  fake_.SetViolationsInvalidate(false);
  ASSERT_EQ(fake_.BeginCapture(stream_, kThreadLocalMode), 0);
  EXPECT_EQ(QueryElsewhere(event, kGlobalMode), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 900);
  int mode = kThreadLocalMode;
  Cu("cuThreadExchangeStreamCaptureMode", &mode);
  EXPECT_EQ(Cu("cuEventQuery", event), 900);
  EXPECT_EQ(fake_.EndCapture(stream_), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
}

TEST_F(FakeCudaCapture, OfRelaxedModeForbidsNothing) {
  void* const event = RecordedEvent(stream_);
  ASSERT_EQ(fake_.BeginCapture(stream_, kRelaxedMode), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 0);
  EXPECT_EQ(Cu("cuEventSynchronize", event), 0);
  EXPECT_NE(NewEvent(), nullptr);
  EXPECT_EQ(fake_.GetCounts().capture_violations, 0U);
}

TEST_F(FakeCudaCapture, IsInvalidatedByAForbiddenCall) {
  void* const event = RecordedEvent(stream_);
  ASSERT_EQ(fake_.BeginCapture(stream_, kGlobalMode), 0);
  EXPECT_EQ(StatusOf(stream_), 1);
  EXPECT_EQ(QueryElsewhere(event, kGlobalMode), 900);
  EXPECT_EQ(StatusOf(stream_), 2);
  EXPECT_EQ(Cu("cuEventRecord", event, stream_), 901);
  void* created = &fake_;
  EXPECT_EQ(Cu("cuEventCreate", &created, 0U), 900);
  EXPECT_EQ(created, &fake_);
  EXPECT_EQ(fake_.GetCounts().captures_invalidated, 1U) << "once";
  EXPECT_EQ(fake_.EndCapture(stream_), 901);
  EXPECT_EQ(StatusOf(stream_), 0);
}

TEST_F(FakeCudaCapture, TakesRecordsWithoutATime) {
  void* const event = NewEvent();
  ASSERT_EQ(fake_.BeginCapture(stream_, kRelaxedMode), 0);
  EXPECT_EQ(Cu("cuEventRecord", event, stream_), 0);
  EXPECT_EQ(fake_.EndCapture(stream_), 0);
  int64_t ns;
  EXPECT_FALSE(fake_.StampNs(event, &ns));
  EXPECT_EQ(Cu("cuEventQuery", event), 907);
  EXPECT_EQ(Cu("cuEventSynchronize", event), 907);
  EXPECT_EQ(fake_.GetCounts().records_into_captures, 1U);
  EXPECT_EQ(Cu("cuEventRecord", event, stream_), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 0) << "outside of captures it is an event again";
}

TEST_F(FakeCudaCapture, AloneTakesExternalRecords) {
  void* const event = NewEvent();
  EXPECT_EQ(Cu("cuEventRecordWithFlags", event, stream_, 1U), 1);
  ASSERT_EQ(fake_.BeginCapture(stream_, kRelaxedMode), 0);
  EXPECT_EQ(Cu("cuEventRecordWithFlags", event, stream_, 1U), 0);
  EXPECT_EQ(Cu("cuEventQuery", event), 0) << "no such node has run";
}

TEST_F(FakeCudaCapture, OfABlockingStreamMakesTheLegacyStreamUnusable) {
  void* const legacy = reinterpret_cast<void*>(1);
  ASSERT_EQ(fake_.BeginCapture(stream_, kRelaxedMode), 0);
  int status = 77;
  EXPECT_EQ(Cu("cuStreamIsCapturing", legacy, &status), 906);
  EXPECT_EQ(status, 77);
  EXPECT_EQ(StatusOf(stream_), 1) << "asking invalidates nothing";
  EXPECT_EQ(fake_.GetCounts().capture_violations, 0U);
  EXPECT_EQ(Cu("cuEventRecord", NewEvent(), legacy), 906);
  EXPECT_EQ(StatusOf(stream_), 2);
  fake_.EndCapture(stream_);

  void* const non_blocking = fake_.NewStream(context_, 1);
  ASSERT_EQ(fake_.BeginCapture(non_blocking, kRelaxedMode), 0);
  EXPECT_EQ(StatusOf(legacy), 0);
}

TEST_F(FakeCudaCapture, HasAnIdentity) {
  uint64_t id = 0;
  int status = -1;
  void* graph = this;
  const void** nodes = nullptr;
  const void** edges = nullptr;
  size_t count = 7;
  const auto info = [&] {
    return Cu("cuStreamGetCaptureInfo_v3", stream_, &status, &id, &graph, &nodes, edges, &count);
  };
  EXPECT_EQ(info(), 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(id, 0U);
  fake_.BeginCapture(stream_, kRelaxedMode);
  EXPECT_EQ(info(), 0);
  EXPECT_EQ(status, 1);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace fake_cuda
