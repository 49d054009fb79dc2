// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/device_rows.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runtime/events/detail_text.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret::chrome_trace {
namespace {

class DeviceRowsTest : public testing::Test {
 protected:
  explicit DeviceRowsTest(int32_t pid = 900) {
    info_.pid = pid;
    rows_.emplace(info_, &buffer_);
  }

  // Launched in scope 5 on thread 917, on stream 7 of device 0.
  FunctionEvent& Timed(std::string_view name, int64_t start, int64_t end, int32_t stream = 7) {
    FunctionEvent& event = events_.emplace_back(TestEvent(name, start, end, stream));
    event.device_type = event.use_device = DeviceType::kCuda;
    event.activity_type = ActivityType::kKernel;
    EventDetails& details = details_.emplace_back();
    details.launch = &launches_.emplace_back(
        DeviceLaunch{5, 1, 917, 31, kSessionStartNs + start - 100, kSessionStartNs + start - 40, 250, 3});
    event.details = &details;
    return event;
  }
  // The lines since the last call.
  std::string Lines() {
    std::string text(buffer_.piece());
    buffer_.Clear();
    return text;
  }
  std::string Written(const FunctionEvent& event) {
    rows_->Write(event);
    return Lines();
  }

  SessionInfo info_ = TestSession();
  UnitBuffer buffer_{[this] { buffer_.Clear(); }};
  std::optional<DeviceRows> rows_;
  std::deque<FunctionEvent> events_;
  std::deque<EventDetails> details_;
  std::deque<DeviceLaunch> launches_;
};

TEST_F(DeviceRowsTest, AKernelHasItsLaunchItsWorkAndAnArrowBetweenThem) {
  EventBatch batch;
  batch.streams.push_back({0, 7, "legacy default stream"});
  rows_->Note(batch);
  FunctionEvent& kernel = Timed("ge\"mm", 1000, 1500);
  std::string recorded;
  AppendDetail(internal::DetailKind::kMetadata, &recorded, [](internal::DetailWriter* out) {
    out->Text("grid");
    WriteValue(std::vector<int64_t>{2, 1, 1}, out);
    out->Text("bytes");
    WriteValue(int64_t{4096}, out);
  });
  kernel.details->recorded = recorded;
  EXPECT_EQ(Written(kernel), R"json(    {"name": "process_name", "ph": "M", "ts": 5589164123456.789, "pid": 0, "tid": 0, "args": {"name": "train"}},
    {"name": "process_labels", "ph": "M", "ts": 5589164123456.789, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    {"name": "process_sort_index", "ph": "M", "ts": 5589164123456.789, "pid": 0, "tid": 0, "args": {"sort_index": 5000000}},
    {"name": "thread_name", "ph": "M", "ts": 5589164123456.789, "pid": 0, "tid": 7, "args": {"name": "stream 7 (legacy default stream)"}},
    {"name": "thread_sort_index", "ph": "M", "ts": 5589164123456.789, "pid": 0, "tid": 7, "args": {"sort_index": 7}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 900, "tid": 917, "ts": 5589164123457.689, "dur": 0.060, "args": {"External id": 5, "cbid": 211, "correlation": 31}},
    {"ph": "X", "cat": "kernel", "name": "ge\"mm", "pid": 0, "tid": 7, "ts": 5589164123457.789, "dur": 0.500, "args": {"External id": 5, "grid": [2, 1, 1], "bytes": 4096, "device": 0, "context": 3, "stream": 7, "correlation": 31, "clock_error_ns": 250}},
    {"ph": "s", "id": 31, "pid": 900, "tid": 917, "ts": 5589164123457.689, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 31, "pid": 0, "tid": 7, "ts": 5589164123457.789, "cat": "ac2g", "name": "ac2g", "bp": "e"},
)json");
}

TEST_F(DeviceRowsTest, APairAroundOtherPairsIsAnAnnotationWithoutALaunch) {
  FunctionEvent& outer = Timed("layer", 1000, 1500);
  outer.activity_type = ActivityType::kGpuUserAnnotation;
  outer.is_user_annotation = outer.is_legacy = true;
  Written(Timed("inner", 1100, 1200));
  EXPECT_EQ(Written(outer), R"json(    {"ph": "X", "cat": "gpu_user_annotation", "name": "layer", "pid": 0, "tid": 7, "ts": 5589164123457.789, "dur": 0.500, "args": {"External id": 5, "device": 0, "context": 3, "on stream": 7, "clock_error_ns": 250, "ferret_legacy": 1}},
)json");
}

TEST_F(DeviceRowsTest, AnAnnotationDrawnAroundKernelsIsANanosecondWiderOnBothSides) {
  FunctionEvent& drawn = Timed("step", 1000, 1500);
  drawn.activity_type = ActivityType::kGpuUserAnnotation;
  drawn.is_user_annotation = drawn.is_synthesized = true;
  drawn.details->launch = nullptr;
  drawn.details->linked_correlation_id = 4;
  Written(Timed("inner", 1000, 1500));
  EXPECT_EQ(Written(drawn), R"json(    {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 5589164123457.788, "dur": 0.502, "args": {"External id": 4, "device": 0, "on stream": 7}},
)json");
}

TEST_F(DeviceRowsTest, CopiesAndSetsAreCalledSoAndSoAreTheirLaunches) {
  FunctionEvent& copy = Timed("copy", 1000, 1500);
  copy.activity_type = ActivityType::kGpuMemcpy;
  std::string text = Written(copy);
  EXPECT_NE(text.find(R"("cat": "gpu_memcpy", "name": "copy")"), text.npos);
  EXPECT_NE(text.find(R"("name": "cudaMemcpyAsync")"), text.npos);
  FunctionEvent& set = Timed("set", 2000, 2500);
  set.activity_type = ActivityType::kGpuMemset;
  text = Written(set);
  EXPECT_NE(text.find(R"("cat": "gpu_memset", "name": "set")"), text.npos);
  EXPECT_NE(text.find(R"("name": "cudaMemsetAsync")"), text.npos);
}

TEST_F(DeviceRowsTest, WhatCrossesIsOnATrackRightBelowItsStreamAndSaysWhichThatIs) {
  Written(Timed("a", 1000, 1500));
  const std::string text = Written(Timed("b", 1200, 1700));
  EXPECT_NE(text.find(R"x("tid": 4194311, "args": {"name": "stream 7 (overlap 1)"}})x"), text.npos) << text;
  EXPECT_NE(text.find(R"("tid": 4194311, "args": {"sort_index": 7}})"), text.npos);
  EXPECT_NE(text.find(R"("name": "b", "pid": 0, "tid": 4194311, )"), text.npos);
  EXPECT_NE(text.find(R"("stream": 7)"), text.npos);
  EXPECT_NE(text.find(R"({"ph": "f", "id": 31, "pid": 0, "tid": 4194311, )"), text.npos);
}

TEST_F(DeviceRowsTest, EveryPartNamesWhatItHas) {
  Written(Timed("a", 1000, 1500));
  EXPECT_EQ(Written(Timed("b", 2000, 2500)).find("thread_name"), std::string::npos);
  rows_->BeginPart();
  const std::string text = Written(Timed("c", 3000, 3500));
  EXPECT_NE(text.find("process_labels"), text.npos);
  EXPECT_NE(text.find(R"("name": "stream 7 ")"), text.npos);
}

TEST_F(DeviceRowsTest, AnIllFormedNameHasItsBytesInArgs) {
  const std::string text = Written(Timed("n\xff", 1000, 1500));
  EXPECT_NE(text.find(R"(, "name_hex": "6eff"}})"), text.npos) << text;
}

TEST_F(DeviceRowsTest, AStreamWithoutItsNoticeAndAnEventWithoutDetailsAreShown) {
  FunctionEvent& bare = Timed("bare", 1000, 1500, 9);
  bare.details = nullptr;
  const std::string text = Written(bare);
  EXPECT_NE(text.find(R"("args": {"name": "stream 9 "}})"), text.npos);
  EXPECT_NE(text.find(R"("args": {"External id": 0, "device": 0, "stream": 9}})"), text.npos) << text;
  EXPECT_EQ(text.find("cuda_runtime"), text.npos);
}

TEST_F(DeviceRowsTest, OfMoreStreamsThanAreKeptThoseThatComeAgainKeepClearOfTheirOldRows) {
  for (int32_t stream = 1; stream <= 2 * static_cast<int32_t>(DeviceRows::kMostStreams); ++stream) {
    Written(Timed("a", 1000 * stream, 1000 * stream + 900, stream));
  }
  // Stream 1 is forgotten; a row that would cross its first one is not on its track.
  EXPECT_EQ(Written(Timed("late", 1500, 2500, 1)).find(R"("name": "late", "pid": 0, "tid": 1, )"), std::string::npos);
  EXPECT_NE(Written(Timed("new", 9000000, 9000100, 1)).find(R"("name": "new", "pid": 0, "tid": 1, )"),
            std::string::npos);
}

TEST_F(DeviceRowsTest, PropertiesAreThoseOfAllDevices) {
  EXPECT_EQ(rows_->Properties(), "");
  EventBatch batch;
  DeviceInfo info;
  info.index = 1;
  info.name = "GPU \"B\"";
  info.memory_bytes = 85899345920;
  info.compute_major = 9;
  info.compute_minor = 1;
  info.multiprocessors = 132;
  info.warp_size = 32;
  batch.devices = {info};
  info.index = 0;
  batch.devices.push_back(info);
  rows_->Note(batch);
  const std::string rest =
      R"(, "name": "GPU \"B\"", "totalGlobalMem": 85899345920, "computeMajor": 9, "computeMinor": 1, "warpSize": 32, "numSms": 132})";
  EXPECT_EQ(rows_->Properties(), "{\"id\": 0" + rest + ", {\"id\": 1" + rest);
}

class DeviceRowsOfASmallPidTest : public DeviceRowsTest {
 protected:
  DeviceRowsOfASmallPidTest() : DeviceRowsTest(1) {}
};

TEST_F(DeviceRowsOfASmallPidTest, ADeviceIsNotTakenForTheProgram) {
  FunctionEvent& event = Timed("a", 1000, 1500);
  event.device_index = 1;
  const std::string text = Written(event);
  EXPECT_NE(text.find(R"("name": "a", "pid": 5000001, )"), text.npos);
  EXPECT_NE(text.find(R"("labels": "GPU 1")"), text.npos);
  EXPECT_NE(text.find(R"("device": 1)"), text.npos);
}

}  // namespace
}  // namespace ferret::chrome_trace
