// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Each kind of driver that a program may meet: what Ferret says of it, what scopes are counted as, and that the program
// does not notice.

#include <gtest/gtest.h>

#include "tests/device/cuda_program_runs.h"

namespace ferret {
namespace {

using fake_cuda::IncompleteLibraryPath;
using fake_cuda::LibraryPath;
using fake_cuda::StubLibraryPath;

constexpr const char* kNowhere = "/nonexistent/libcuda.so.1";

class DriverOutcomes : public CudaProgramRuns {
 protected:
  static std::string Using(const std::string& library) { return "FERRET_CUDA_LIBRARY=" + library + " "; }
  static std::string ComesFrom(const std::string& library) {
    return "ferret: FERRET_CUDA_LIBRARY: CUDA times come from " + library + "\n";
  }
  // A driver that cannot be used: once with all messages, once with the default ones.
  void ExpectUnusable(const std::string& library, const std::string& how, const std::string& text, bool unusual) {
    CudaRun run = RunCuda("FERRET_LOG=info " + Using(library), how);
    EXPECT_EQ(run.status, 7);
    EXPECT_EQ(run.err, ComesFrom(library) + "ferret: " + text + "; nothing is timed on it\n");
    // What was asked while the driver was being looked for had no markers yet.
    EXPECT_EQ(run.out, text + "\nexact\ntimed none\ndisabled\npool_exhausted\n");
    run = RunCuda(Using(library), how);
    EXPECT_EQ(run.status, 7);
    EXPECT_EQ(run.err, ComesFrom(library) + (unusual ? "ferret: " + text + "; nothing is timed on it\n" : ""));
    run = RunCuda("FERRET_LOG=error " + Using(library), how);
    EXPECT_EQ(run.status, 7);
    EXPECT_EQ(run.err, "");
  }
};

TEST_F(DriverOutcomes, WithoutALibraryNothingIsTimedAndNothingIsSaid) {
  ExpectUnusable(kNowhere, "outcome",
                 std::string("there is no CUDA driver: ") + kNowhere +
                     ": cannot open shared object file: No such file or directory",
                 false);
}

TEST_F(DriverOutcomes, ALibraryThatLacksAFunctionIsNamedWithIt) {
  ExpectUnusable(IncompleteLibraryPath(), "outcome",
                 "the CUDA driver " + IncompleteLibraryPath() + " is too old: it has no cuEventElapsedTime", true);
}

TEST_F(DriverOutcomes, TheToolkitsStubIsToldFromADriver) {
  ExpectUnusable(StubLibraryPath(), "outcome",
                 StubLibraryPath() + " is the CUDA toolkit's stub for linking, not a driver", true);
}

TEST_F(DriverOutcomes, ADriverWithoutDevicesIsNothingSpecial) {
  ExpectUnusable(LibraryPath(), "no_device " + LibraryPath(), "there is a CUDA driver, but no CUDA device", false);
}

TEST_F(DriverOutcomes, AGoodDriverTimes) {
  const CudaRun run = RunCuda("FERRET_LOG=info " + Using(LibraryPath()), "outcome " + LibraryPath());
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, ComesFrom(LibraryPath()) + "ferret: CUDA driver 13.0, 1 device\n");
  EXPECT_EQ(run.out, "CUDA driver 13.0, 1 device\nexact\ntimed some\npool_exhausted\n");
}

TEST_F(DriverOutcomes, ADriverIsFoundByItsName) {
  const std::string folder = LibraryPath().substr(0, LibraryPath().rfind('/'));
  const CudaRun run = RunCuda("LD_LIBRARY_PATH=" + folder, "outcome libcuda.so.1");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "CUDA driver 13.0, 1 device\nexact\ntimed some\npool_exhausted\n");
}

TEST_F(DriverOutcomes, ADriverThatTheProgramInitialisesLaterIsUsedFromThenOn) {
  const CudaRun run = RunCuda("FERRET_LOG=info " + Using(LibraryPath()), "late_initialization " + LibraryPath());
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, ComesFrom(LibraryPath()) + "ferret: CUDA driver 13.0, 1 device\n");
  EXPECT_EQ(run.out,
            "the CUDA driver is not initialised yet\nCUDA driver 13.0, 1 device\nexact\ntimed some\npool_exhausted\n");
}

}  // namespace
}  // namespace ferret
