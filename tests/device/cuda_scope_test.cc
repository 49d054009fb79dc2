// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ferret/cuda.h from end to end: what a scope on a stream becomes in what a session delivers, and what it is counted as.

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/cuda_session_kit.h"

namespace ferret {
namespace {

class CudaScope : public testing::Test {
 protected:
  CudaScope() {
    context_ = sessions_.NewContext();
    stream_ = sessions_.NewStream(context_);
  }
  void Start() {
    sessions_.Start();
    ASSERT_TRUE(cuda::Prepare(stream_));
  }
  static std::vector<const FunctionEvent*> Timed(const CollectedTrace& trace) {
    std::vector<const FunctionEvent*> timed;
    for (const FunctionEvent& event : trace.events) {
      if (IsTimed(event)) timed.push_back(&event);
    }
    return timed;
  }

  CudaSessions sessions_;
  void* context_;
  cuda::Stream stream_;
};

TEST_F(CudaScope, OfTheMacroIsTimedUnderItsName) {
  Start();
  const int64_t kernel_ns = 2'000'000;
  {
    FERRET_CUDA_SCOPE(stream_, "gemm");
    sessions_.fake.Kernel(stream_, kernel_ns);
  }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(1, trace);
  const auto timed = Timed(trace);
  ASSERT_EQ(timed.size(), 1u) << DeviceLossesText();
  EXPECT_EQ(timed[0]->name, "gemm");
  EXPECT_EQ(timed[0]->activity_type, ActivityType::kKernel);
  EXPECT_EQ(timed[0]->device_index, 0);
  EXPECT_EQ(static_cast<uint64_t>(timed[0]->device_resource_id), sessions_.fake.StreamId(stream_));
  // What waits for the kernel, and what the stamps are rounded to.
  EXPECT_GE(timed[0]->end_ns - timed[0]->start_ns, kernel_ns - 2'000);
}

TEST_F(CudaScope, WithANameMadeAtRunTimeAndAsAnAnnotationIsTimed) {
  Start();
  {
    const cuda::Scope scope(stream_, std::string("layer ") + std::to_string(17));
    sessions_.fake.Kernel(stream_, 1'000);
  }
  {
    const cuda::Annotation annotation(stream_, "forward");
    sessions_.fake.Kernel(stream_, 1'000);
  }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(2, trace);
  const auto timed = Timed(trace);
  ASSERT_EQ(timed.size(), 2u);
  EXPECT_EQ(timed[0]->name, "layer 17");
  EXPECT_EQ(timed[0]->activity_type, ActivityType::kKernel);
  EXPECT_EQ(timed[1]->name, "forward");
  EXPECT_EQ(timed[1]->activity_type, ActivityType::kGpuUserAnnotation);
  EXPECT_TRUE(timed[1]->is_user_annotation);
}

TEST_F(CudaScope, ThatDoesNotAskForDeviceTimeIsNeitherCountedNorTimed) {
  Start();
  { const cuda::Scope scope(stream_, "cpu only", false); }
  { const cuda::Annotation annotation(stream_, "cpu only", false); }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(0, trace);
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_TRUE(Timed(trace).empty());
}

TEST_F(CudaScope, TellsOfItsLaunchWithTheEventOnTheDevice) {
  Start();
  {
    FERRET_CUDA_SCOPE(stream_, "gemm");
    cuda::Launch launch;
    launch.grid[0] = 32, launch.grid[1] = 2, launch.grid[2] = 1;
    launch.block[0] = 128, launch.block[1] = 1, launch.block[2] = 1;
    launch.bytes = 4096;
    cuda::DescribeLaunch(launch);
    sessions_.fake.Kernel(stream_, 1'000);
  }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(1, trace);
  const auto timed = Timed(trace);
  ASSERT_EQ(timed.size(), 1u) << DeviceLossesText();
  const auto metadata = timed[0]->metadata();
  for (const char* key : {"grid", "block", "bytes"}) EXPECT_EQ(metadata.count(key), 1u) << key;
}

TEST_F(CudaScope, CanBePreparedWhereItCanBeTimed) {
  EXPECT_FALSE(cuda::Prepare(stream_)) << "no session is on";
  sessions_.Start();
  EXPECT_TRUE(cuda::Prepare(stream_));
  EXPECT_TRUE(cuda::Prepare(cuda::LegacyStream()));
  EXPECT_TRUE(cuda::Prepare(cuda::PerThreadStream()));
  EXPECT_FALSE(cuda::Prepare(nullptr));
  const cuda::Stream green = sessions_.NewStream(context_);
  sessions_.fake.SetStreamGreen(green, true);
  EXPECT_FALSE(cuda::Prepare(green));
  bool without_context = true;
  std::thread([&] { without_context = cuda::Prepare(cuda::LegacyStream()); }).join();
  EXPECT_FALSE(without_context);
  // Preparing asks for nothing, and a scope after it has a pair at once.
  { FERRET_CUDA_SCOPE(stream_, "first"); }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(1, trace);
  EXPECT_EQ(DeviceLosses().timed, 1u);
}

TEST_F(CudaScope, IsDisabledByTheOption) {
  sessions_.options.cuda = Options::Cuda::kOff;
  sessions_.Start();
  const uint64_t calls = sessions_.fake.Calls(nullptr);
  { FERRET_CUDA_SCOPE(stream_, "off"); }
  EXPECT_FALSE(cuda::Prepare(stream_));
  EXPECT_EQ(sessions_.fake.Calls(nullptr), calls);
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(1, trace);
  EXPECT_EQ(DeviceLosses()[DeviceLoss::kDisabled], 1u);
  EXPECT_EQ(trace.events.size(), 1u);
}

// So slow a rate that only its burst is had: a tenth of a second's worth, one in ten seconds at the least.
TEST_F(CudaScope, BeyondTheRateIsRecordedWithoutDeviceTime) {
  sessions_.options.cuda_rate = 1;
  Start();
  const absl::Time start = absl::Now();
  for (int i = 0; i < 100; ++i) { FERRET_CUDA_SCOPE(stream_, "often"); }
  const absl::Duration took = absl::Now() - start;
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(100, trace);
  const DeviceCounts counts = DeviceLosses();
  EXPECT_GE(counts.timed, 1u);
  EXPECT_LE(counts.timed, 1u + static_cast<uint64_t>(absl::ToInt64Seconds(took) + 1));
  EXPECT_EQ(counts.timed + counts[DeviceLoss::kRateLimited], 100u);
}

// Ends have room that is kept for them, which marks must not take.
TEST_F(CudaScope, TakesNoRoomFromTheEndsOfScopesWhenTheBufferIsFull) {
  sessions_.options = TestOptions(2);
  sessions_.options.cuda_library = fake_cuda::Load().path;
  sessions_.options.cuda_rate = 0;
  Start();
  uint64_t asked = 0;
  const std::function<void(int)> nest = [&](int depth) {
    ++asked;
    FERRET_CUDA_SCOPE(stream_, "nested");
    if (depth < 30) nest(depth + 1);
  };
  for (int i = 0; i < 20'000 && DeviceLosses()[DeviceLoss::kScopeLost] < 5'000; ++i) nest(1);
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(asked, trace);
  EXPECT_GE(DeviceLosses()[DeviceLoss::kScopeLost], 5'000u);
  EXPECT_EQ(trace.progress.ends_refused, 0u);
  for (const FunctionEvent& event : trace.events) EXPECT_FALSE(event.is_truncated);
}

// The smallest buffer, which a burst fills before the drain has its turn.
TEST_F(CudaScope, ThatFindsNoRoomInTheBufferIsCountedSo) {
  sessions_.options = TestOptions(2);
  sessions_.options.cuda_library = fake_cuda::Load().path;
  sessions_.options.cuda_rate = 0;
  Start();
  uint64_t asked = 0;
  for (int i = 0; i < 200'000 && DeviceLosses()[DeviceLoss::kScopeLost] < 100; ++i, ++asked) {
    const cuda::Scope scope(stream_, "a long name that is kept in the buffer, since it is made at run time: " + std::to_string(i));
  }
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(asked, trace);
  EXPECT_GE(DeviceLosses()[DeviceLoss::kScopeLost], 100u);
}

TEST_F(CudaScope, HasOneReasonForEachThatIsNotTimed) {
  Start();
  { const cuda::Scope scope(nullptr, "null"); }
  ASSERT_EQ(sessions_.fake.BeginCapture(stream_, 0), 0);
  { const cuda::Scope scope(stream_, "captured"); }
  ASSERT_EQ(sessions_.fake.EndCapture(stream_), 0);
  sessions_.fake.FailNext("cuEventRecord", 400);
  // The device thread may take the failure, for an anchor.
  { const cuda::Scope scope(stream_, "refused"); }
  std::thread([] { const cuda::Scope scope(cuda::LegacyStream(), "no context"); }).join();
  const CollectedTrace trace = sessions_.Stop();
  ExpectExactDevices(4, trace);
  const DeviceCounts counts = DeviceLosses();
  EXPECT_EQ(counts[DeviceLoss::kBadStream], 1u);
  EXPECT_EQ(counts[DeviceLoss::kCapture], 1u);
  EXPECT_EQ(counts[DeviceLoss::kNoContext], 1u);
  EXPECT_EQ(counts[DeviceLoss::kRecordFailed] + counts.timed, 1u);
  EXPECT_EQ(trace.events.size(), 4u + counts.timed);
}

}  // namespace
}  // namespace ferret
