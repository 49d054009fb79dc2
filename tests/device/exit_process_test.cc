// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a process that has timed scopes: the driver may be gone before Ferret is. And forked children, where there
// is none.

#include <gtest/gtest.h>

#include "tests/device/cuda_program_runs.h"

namespace ferret {
namespace {

class Exit : public CudaProgramRuns {
 protected:
  CudaRun RunWithFake(const std::string& how) {
    // A child of a threaded process has what its lost threads held: to a leak checker those are leaks.
    const std::string leaks = how.rfind("fork", 0) == 0 ? "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 " : "";
    return RunCuda(leaks + "FERRET_LOG=error FERRET_CUDA_LIBRARY=" + fake_cuda::LibraryPath() + " " + ToFile(),
                   how + " " + fake_cuda::LibraryPath());
  }
  // Ten scopes were known, three over, five pending.
  void ExpectExact() {
    std::map<std::string, int64_t> counts = DeviceCountsIn("trace.json");
    EXPECT_EQ(counts["asked"], 18);
    EXPECT_GE(counts["timed"], 10);
    EXPECT_GE(counts["abandoned_at_stop"], 5);
    EXPECT_EQ(counts["timed"] + counts["abandoned_at_stop"], 18);
  }
};

TEST_F(Exit, FromMainBeginsNoCallOfTheDriverAndLosesNothingThatWasKnown) {
  const CudaRun run = RunWithFake("return");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "0 calls after the halt\n");
  ExpectExact();
}

TEST_F(Exit, FromAnotherThreadIsNoDifferent) {
  const CudaRun run = RunWithFake("exit_in_thread");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "0 calls after the halt\n");
  ExpectExact();
}

TEST_F(Exit, WithoutHandlersIsNotHeldUp) {
  const CudaRun run = RunWithFake("_exit");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "");
}

TEST_F(Exit, ByQuickExitIsNotHeldUp) {
  const CudaRun run = RunWithFake("quick_exit");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "");
}

TEST_F(Exit, OfAForkedChildCallsNoDriverAndLeavesTheParentsTraceAlone) {
  for (const char* how : {"fork", "fork_exit"}) {
    const CudaRun run = RunWithFake(how);
    EXPECT_EQ(run.status, 7) << how;
    EXPECT_EQ(run.err, "") << how;
    EXPECT_EQ(run.out, "child 0\n") << how;
    std::map<std::string, int64_t> counts = DeviceCountsIn("trace.json");
    EXPECT_EQ(counts["asked"], 3) << how;
    EXPECT_GE(counts["timed"], 1) << how;
    EXPECT_EQ(counts["timed"] + counts["abandoned_at_stop"], 3) << how;
  }
}

}  // namespace
}  // namespace ferret
