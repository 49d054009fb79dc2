// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Timed scopes through the C API, on the fake CUDA driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "ferret/c_api.h"
#include "ferret/cuda.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

class CCuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fake_cuda::FakeCuda& fake = fake_cuda::Load().fake;
    fake.UseMonotonicClock();
    void* const context = fake.NewContext(0);
    fake.MakeCurrent(context);
    stream_ = fake.NewStream(context);
  }

  CCuda() {
    Options options = TestOptions();
    options.cuda_library = fake_cuda::LibraryPath();
    Exporters exporters;
    const absl::Status status = StartSession(options, exporters.Memory(collector_).Take());
    EXPECT_TRUE(status.ok()) << status;
    int tries = 0;
    while (!ferret_cuda_prepare(stream_) && ++tries < 600) continue;
    EXPECT_LT(tries, 600);
  }

  static inline void* stream_ = nullptr;
  const std::shared_ptr<MemoryCollector> collector_ = std::make_shared<MemoryCollector>();
};

TEST_F(CCuda, ScopeIsTimedAndTellsWhatItLaunches) {
  const uint32_t grid[3] = {4, 2, 1};
  const ferret_cuda_scope scope = ferret_cuda_scope_begin(stream_, "gemm and more", 4);
  EXPECT_NE(scope.pair, 0u);
  ferret_cuda_describe_launch(grid, nullptr, -1);
  ferret_cuda_scope_end(scope);
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(ferret_device_timed(), 1u);
  EXPECT_EQ(ferret_device_lost(nullptr), 0u);

  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.events.size(), 2u);
  for (const FunctionEvent& event : trace.events) {
    EXPECT_EQ(event.name, "gemm");
    if (event.device_type != DeviceType::kCuda) continue;
    ASSERT_NE(event.details, nullptr);
    EXPECT_NE(event.details->launch, nullptr);
    EXPECT_NE(event.details->recorded.find("grid"), std::string_view::npos);
  }
  EXPECT_EQ(std::count_if(trace.events.begin(), trace.events.end(),
                          [](const FunctionEvent& event) { return event.device_type == DeviceType::kCuda; }),
            1);
}

TEST_F(CCuda, AnnotationIsTimedAsOne) {
  ferret_cuda_scope_end(ferret_cuda_annotation_begin(stream_, "phase", FERRET_STRLEN));
  ASSERT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector_->Take();
  ASSERT_EQ(trace.events.size(), 2u);
  for (const FunctionEvent& event : trace.events) EXPECT_TRUE(event.is_user_annotation);
}

TEST_F(CCuda, DefaultStreamsHaveNamesAndANullStreamIsNotTimed) {
  EXPECT_EQ(FERRET_CUDA_STREAM_LEGACY, static_cast<void*>(cuda::LegacyStream()));
  EXPECT_EQ(FERRET_CUDA_STREAM_PER_THREAD, static_cast<void*>(cuda::PerThreadStream()));
  for (void* stream : {FERRET_CUDA_STREAM_LEGACY, FERRET_CUDA_STREAM_PER_THREAD, static_cast<void*>(nullptr)}) {
    ferret_cuda_scope_end(ferret_cuda_scope_begin(stream, "scope", FERRET_STRLEN));
  }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(ferret_device_timed(), 2u);
  EXPECT_EQ(ferret_device_lost(nullptr), 1u);
  EXPECT_EQ(ferret_device_lost("bad_stream"), 1u);
  EXPECT_EQ(ferret_device_lost("no_context"), 0u);
  EXPECT_EQ(ferret_device_lost("no such reason"), 0u);
}

TEST_F(CCuda, NothingIsAskedWhileRecordingIsOff) {
  ASSERT_TRUE(Stop60().ok());
  const ferret_cuda_scope scope = ferret_cuda_scope_begin(stream_, "scope", FERRET_STRLEN);
  EXPECT_EQ(scope.scope.word, 0u);
  EXPECT_EQ(scope.pair, 0u);
  ferret_cuda_describe_launch(nullptr, nullptr, 1);
  ferret_cuda_scope_end(scope);
  EXPECT_EQ(ferret_cuda_prepare(stream_), 0);
  EXPECT_EQ(DeviceLosses().asked, 0u);
}

}  // namespace
}  // namespace ferret
