// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks around what PyTorch runs that no Python program can have: asynchronous scopes, scopes that end on another thread,
// every kind of scope. On the fake CUDA driver.

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "ferret/cuda.h"
#include "ferret/session.h"

namespace ferret {
namespace {

std::string InRunfiles(const char* path) {
  char* const here = getcwd(nullptr, 0);
  std::string result = std::string(here) + "/" + path;
  std::free(here);
  return result;
}

// What runs between a start and a stop of a session, with events for everything that asks.
class CudaMarks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string driver = InRunfiles("tests/device/fake_cuda/libcuda.so.1");
    setenv("FERRET_CUDA_LIBRARY", driver.c_str(), 1);
    setenv("FERRET_CUDA_RATE", "0", 1);
    void* const stand_in = dlopen("tests/torch/libtorch_cuda_stand_in.so", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(stand_in, nullptr) << dlerror();
    const auto begin = reinterpret_cast<int (*)(const char*)>(dlsym(stand_in, "stand_in_begin"));
    ASSERT_EQ(begin(driver.c_str()), 0);
    stream_ = reinterpret_cast<cuda::Stream (*)()>(dlsym(stand_in, "stand_in_stream"))();
    ASSERT_NE(dlopen("adapters/torch/libferret_torch.so", RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  }

  static void StartTiming(const char* what) {
    setenv("FERRET_CUDA", what, 1);
    ASSERT_EQ(Start("memory"), "");
    int tries = 0;
    while (!cuda::Prepare(stream_) && ++tries < 600) continue;
    ASSERT_LT(tries, 600);
  }

  static DeviceCounts StopTiming() {
    EXPECT_EQ(Stop(60'000), "");
    const DeviceCounts counts = DeviceLosses();
    EXPECT_EQ(counts.asked, counts.timed + counts.total_lost());
    return counts;
  }

  static inline cuda::Stream stream_ = nullptr;
};

void RunOne(at::RecordScope scope, const char* name = "scope") {
  at::RecordFunction function(scope);
  function.before(name);
}

// As FERRET_CUDA says: off, scopes, annotations, ops.
TEST_F(CudaMarks, AreAroundTheScopesThatTheSessionAsksFor) {
  const auto asked = [](const char* what) {
    StartTiming(what);
    RunOne(at::RecordScope::USER_SCOPE);
    RunOne(at::RecordScope::FUNCTION);
    RunOne(at::RecordScope::BACKWARD_FUNCTION);
    RunOne(at::RecordScope::TORCHSCRIPT_FUNCTION);
    RunOne(at::RecordScope::KERNEL_FUNCTION_DTYPE);
    RunOne(at::RecordScope::CUSTOM_CLASS);
    const DeviceCounts counts = StopTiming();
    EXPECT_EQ(counts.timed, counts.asked);
    return counts.asked;
  };
  EXPECT_EQ(asked("scopes"), 0u);
  EXPECT_EQ(asked("annotations"), 1u);
  EXPECT_EQ(asked("ops"), 3u);
  EXPECT_EQ(asked("scopes"), 0u);
}

TEST_F(CudaMarks, AreAroundAnnotationsWhateverTheirNames) {
  StartTiming("ops");
  RunOne(at::RecordScope::FUNCTION, "aten::view");
  RunOne(at::RecordScope::USER_SCOPE, "aten::view");
  RunOne(at::RecordScope::FUNCTION, (std::string("a name too long to be kept ") + std::string(300, '.')).c_str());
  EXPECT_EQ(StopTiming().timed, 2u);
}

TEST_F(CudaMarks, AsynchronousScopesHaveNone) {
  StartTiming("ops");
  {
    at::RecordFunction async(at::RecordScope::USER_SCOPE);
    async._setAsync();
    async.before("asynchronous");
  }
  EXPECT_EQ(StopTiming().asked, 0u);
}

TEST_F(CudaMarks, ScopeThatEndsOnAnotherThreadLosesItsTimeAndNothingElseDoes) {
  StartTiming("annotations");
  {
    at::RecordFunction outer(at::RecordScope::USER_SCOPE);
    outer.before("outer");
    auto moves = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    moves->before("moves");
    RunOne(at::RecordScope::USER_SCOPE, "inner");
    std::thread([&moves] { moves.reset(); }).join();
    for (int i = 0; i < 100; ++i) RunOne(at::RecordScope::USER_SCOPE, "after");
  }
  const DeviceCounts counts = StopTiming();
  EXPECT_EQ(counts.asked, 103u);
  EXPECT_EQ(counts[DeviceLoss::kScopeLost], 1u);
  // There are 64 pairs at first, and more in time.
  EXPECT_EQ(counts.timed + counts[DeviceLoss::kPoolExhausted], 102u);
}

TEST_F(CudaMarks, ScopeThatOutlivesItsSessionIsCountedByItAlone) {
  StartTiming("ops");
  DeviceCounts first;
  {
    at::RecordFunction outlives(at::RecordScope::FUNCTION);
    outlives.before("outlives");
    first = StopTiming();
    StartTiming("ops");
  }
  EXPECT_EQ(first.asked, 1u);
  EXPECT_EQ(first[DeviceLoss::kAbandonedAtStop], 1u);
  EXPECT_EQ(StopTiming().asked, 0u);
}

}  // namespace
}  // namespace ferret
