// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_preload.so in real processes, with libraries that stand for PyTorch and its adapter (see fakes/).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/program.h"

namespace ferret {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Preload : public ::testing::Test {
 protected:
  // lib/: the preload beside its adapter. app/: PyTorch and the libraries of a program; app/hidden/: what only a search
  // path leads to.
  Preload() {
    for (const char* name : {"lib", "app", "app/hidden"}) fs::create_directories(folder_ / name);
    fs::copy_file(DataFile("adapters/torch/preload/libferret_preload.so"), folder_ / "lib/libferret_preload.so");
    CopyFake("libferret_torch.so", "lib");
    CopyFake("libhidden.so", "app/hidden");
    for (const char* name : {"libtorch_cpu.so", "libwith_torch.so", "libempty.so", "loader", "loader_linked",
                             "libcaller_runpath.so", "libcaller_rpath.so"}) {
      CopyFake(name, "app");
    }
  }

  void CopyFake(const std::string& name, const std::string& where) {
    fs::copy_file(DataFile("tests/tools/fakes/" + name), folder_ / (where + "/" + name));
  }

  std::string App(const std::string& name) const { return folder_ / ("app/" + name); }

  Outcome RunPreloaded(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& more = {"FERRET_EXPORT=memory"}) {
    std::vector<std::string> environment = {"LD_PRELOAD=" + folder_ / "lib/libferret_preload.so",
                                            "FAKE_LOG=" + folder_ / "log"};
    environment.insert(environment.end(), more.begin(), more.end());
    return RunProgram(arguments, environment);
  }

  // One line for each time that the adapter was initialised.
  std::string Log() const { return ReadFile(folder_ / "log"); }

  TemporaryFolder folder_;
};

TEST_F(Preload, LinkedPyTorchBringsTheAdapterAtStart) {
  const Outcome outcome = RunPreloaded({App("loader_linked")});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, PyTorchThatIsLoadedBringsTheAdapterBeforeTheCallReturns) {
  const Outcome outcome = RunPreloaded({App("loader"), "open", App("libempty.so"), "open", App("libwith_torch.so")});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, TheAdapterComesOnce) {
  const std::string torch = App("libwith_torch.so");
  const Outcome outcome =
      RunPreloaded({App("loader"), "threads", torch, "open", torch, "open", App("libtorch_cpu.so")});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, TheAdaptersOwnLibrariesDoNotBringItAgain) {
  RunPreloaded({App("loader"), "open", App("libwith_torch.so")},
               {"FERRET_EXPORT=memory", "FAKE_INNER=" + App("libempty.so")});
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, ProcessesWithoutPyTorchStayFree) {
  EXPECT_EQ(RunPreloaded({App("loader"), "open", App("libempty.so"), "open", "libm.so.6"}).exit_status, 0);
  const Outcome shell = RunPreloaded({"bash", "-c", "echo $((1 + 1)); ls / > /dev/null"});
  EXPECT_EQ(shell.out, "2\n");
  EXPECT_EQ(shell.err, "");
  EXPECT_EQ(Log(), "");
}

TEST_F(Preload, WithoutExportNothingHappens) {
  for (const std::vector<std::string>& environment : {std::vector<std::string>{}, {"FERRET_EXPORT="}}) {
    EXPECT_EQ(RunPreloaded({App("loader_linked"), "open", App("libwith_torch.so")}, environment).exit_status, 0);
  }
  EXPECT_EQ(Log(), "");
}

TEST_F(Preload, AnInstallationWithoutTheAdapterIsSilent) {
  fs::remove(folder_ / "lib/libferret_torch.so");
  const Outcome outcome = RunPreloaded({App("loader_linked"), "open", App("libwith_torch.so")});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Preload, TheAdapterIsFoundWhereItIsBuilt) {
  fs::create_directories(folder_ / "lib/torch/preload");
  fs::rename(folder_ / "lib/libferret_torch.so", folder_ / "lib/torch/libferret_torch.so");
  fs::rename(folder_ / "lib/libferret_preload.so", folder_ / "lib/torch/preload/libferret_preload.so");
  RunProgram({App("loader_linked")}, {"LD_PRELOAD=" + folder_ / "lib/torch/preload/libferret_preload.so",
                                      "FAKE_LOG=" + folder_ / "log", "FERRET_EXPORT=memory"});
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, AnAdapterThatDoesNotFitIsOneLine) {
  WriteFile(folder_ / "lib/libferret_torch.so", "not a library");
  const Outcome outcome =
      RunPreloaded({App("loader"), "open", App("libwith_torch.so"), "open", App("libwith_torch.so")});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out;
  EXPECT_THAT(outcome.err, StartsWith("ferret: PyTorch is not recorded: "));
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
}

TEST_F(Preload, SearchPathOfTheCallerIsHonoured) {
  for (const char* caller : {"libcaller_runpath.so", "libcaller_rpath.so"}) {
    const Outcome outcome = RunPreloaded({App("loader"), "via", App(caller), "libhidden.so"});
    EXPECT_EQ(outcome.exit_status, 0) << caller << ": " << outcome.out;
  }
  EXPECT_NE(RunPreloaded({App("loader"), "open", "libhidden.so"}).exit_status, 0) << "nothing else leads to it";
}

TEST_F(Preload, OriginOfTheCallerIsHonoured) {
  const Outcome outcome =
      RunPreloaded({App("loader"), "via", App("libcaller_runpath.so"), "$ORIGIN/hidden/libhidden.so"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out;
}

TEST_F(Preload, PyTorchBehindASearchPathIsSeenAtTheNextCall) {
  fs::rename(App("libtorch_cpu.so"), App("hidden/libtorch_cpu.so"));
  const Outcome outcome = RunPreloaded(
      {App("loader"), "via", App("libcaller_runpath.so"), "libtorch_cpu.so", "open", "libm.so.6"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out;
  EXPECT_EQ(Log(), "adapter\n");
}

TEST_F(Preload, DlerrorStillTellsWhatFailed) {
  const Outcome outcome =
      RunPreloaded({App("loader"), "error", "/no/such/library.so", "error", "no_such_library.so", "open",
                    App("libwith_torch.so"), "error", "/no/such/library.so"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Preload, NeedsNothingButTheCLibrary) {
  EXPECT_THAT(RunProgram({"ldd", folder_ / "lib/libferret_preload.so"}).out, Not(HasSubstr("libstdc++")));
}

}  // namespace
}  // namespace ferret
