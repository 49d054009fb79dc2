// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is left of a recording for every way in which a process ends. Each test runs a program that Ferret is linked into,
// and one that has libferret.so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/process/scopes_in.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using testing::HasSubstr;

class Exit : public testing::TestWithParam<const char*> {
 protected:
  Exit() { std::filesystem::create_directory(folder_ / "crash"); }

  Outcome Run(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), DataFile(std::string("tests/process/") + GetParam()));
    const std::string ferret = DataFile("libferret.so");
    environment.push_back("LD_LIBRARY_PATH=" + ferret.substr(0, ferret.rfind('/')));
    environment.push_back("FERRET_EXPORT=chrome_trace:" + trace_);
    environment.push_back("FERRET_STOP_DEADLINE=50s");  // disks may stand still
    return RunProgram(arguments, environment);
  }

  // Of an end at which nothing of Ferret runs.
  struct Ending {
    const char* how;
    int exit_status;
    int signal;
  };
  static std::vector<Ending> Sudden() {
    return {{"quick_exit", 7, 0},       {"_exit", 7, 0},       {"abort", -1, SIGABRT},
            {"terminate", -1, SIGABRT}, {"segv", -1, SIGSEGV}, {"kill", -1, SIGKILL}};
  }

  // What the program has recorded when it ends by exit. Where Ferret is a library of its own, it is there before any static
  // of the program is, and outlives it.
  static Scopes Whole(Scopes more = {}) {
    more["before"] = 1000;
    if (GetParam() == std::string("exit_program_shared")) more["early static"] = 1;
    return more;
  }

  // The only file in the folder that is not the crash file's.
  std::string OnlyFile() const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      EXPECT_EQ(found, "");
      found = entry.path().string();
    }
    return found;
  }

  const TemporaryFolder folder_;
  const std::string trace_ = folder_ / "trace.json";
};

TEST_P(Exit, ByExitLeavesAWholeTrace) {
  const Outcome outcome = Run({"exit"});
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(ScopesIn(trace_), Whole());
}

TEST_P(Exit, EndsWhatIsOpen) {
  EXPECT_EQ(Run({"open"}).exit_status, 7);
  EXPECT_EQ(ScopesIn(trace_), Whole({{"open at exit", 1}}));
}

// Handlers and statics run in the reverse order of their making.
TEST_P(Exit, RecordsDestructorsAndHandlersUntilFerretsOwnAndIsDeafAfterwards) {
  const Outcome outcome = Run({"destructors"});
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(ScopesIn(trace_), Whole({{"thread_local of main", 1}, {"atexit handler", 1}, {"late static", 1}}));
}

// Nobody is left to end the process but Ferret, which finds that out within seconds.
TEST_P(Exit, OfAllThreadsOfTheProgramIsTheProcesssExit) {
  const Outcome outcome = Run({"pthread_exit"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.err, "");
  // Of a main thread that ends like this the C library destroys no thread_local.
  EXPECT_EQ(ScopesIn(trace_),
            Whole({{"key destructor of main", 1}, {"after main", 1}, {"atexit handler", 1}, {"late static", 1}}));
}

// Its sending thread is Ferret's, too. Nobody listens there.
TEST_P(Exit, OfAllThreadsOfTheProgramIsTheProcesssExitAlsoBesideOneThatSends) {
  const std::string both = "FERRET_EXPORT=chrome_trace:" + trace_ + ",otlp";
  const Outcome outcome = Run({"pthread_exit"}, {both, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9",
                                                 "OTEL_EXPORTER_OTLP_TIMEOUT=500"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(ScopesIn(trace_)["after main"], 1);
}

TEST_P(Exit, BesideDetachedThreadsThatRecordLeavesAWholeTrace) {
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Run({"detached"});
    ASSERT_EQ(outcome.exit_status, 7) << "signal " << outcome.signal;
    const Scopes scopes = ScopesIn(trace_);
    EXPECT_EQ(scopes.at("before"), 1000);
    // Unless the machine was too slow for the buffer, and then there is a line about it.
    if (outcome.err.empty()) {
      EXPECT_GE(scopes.at("detached"), atoi(outcome.out.c_str()));
    } else {
      EXPECT_THAT(outcome.err, HasSubstr("lost"));
    }
    std::filesystem::remove(trace_);
  }
}

TEST_P(Exit, WithoutHandlersLeavesAFileWithWhatWasFlushed) {
  for (const Ending& ending : Sudden()) {
    SCOPED_TRACE(ending.how);
    const Outcome outcome = Run({ending.how, "flush"});
    EXPECT_EQ(outcome.exit_status, ending.exit_status);
    EXPECT_EQ(outcome.signal, ending.signal);
    const std::string file = OnlyFile();
    EXPECT_GE(ScopesIn(file)["before"], 500);
    std::filesystem::remove(file);
  }
}

TEST_P(Exit, WithoutHandlersLosesNothingWithACrashFile) {
  for (const Ending& ending : Sudden()) {
    SCOPED_TRACE(ending.how);
    const Outcome outcome = Run({ending.how}, {"FERRET_CRASH_DIR=" + folder_ / "crash"});
    EXPECT_EQ(outcome.exit_status, ending.exit_status);
    EXPECT_EQ(outcome.signal, ending.signal);
    const Outcome recovery = RunProgram({DataFile("tools/ferret"), "recover", folder_ / "crash"});
    EXPECT_EQ(recovery.exit_status, 0) << recovery.err;
    EXPECT_EQ(OnlyFile(), trace_);
    Scopes scopes = ScopesIn(trace_);
    EXPECT_EQ(scopes["before"], 1000);
    EXPECT_EQ(scopes["quick handler"], std::string(ending.how) == "quick_exit");
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "crash"));
    std::filesystem::remove(trace_);
  }
}

TEST_P(Exit, ByExitLeavesNoCrashFile) {
  EXPECT_EQ(Run({"exit"}, {"FERRET_CRASH_DIR=" + folder_ / "crash"}).exit_status, 7);
  EXPECT_EQ(ScopesIn(trace_), Whole());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "crash"));
}

INSTANTIATE_TEST_SUITE_P(Programs, Exit, testing::Values("exit_program", "exit_program_shared"),
                         [](const auto& tested) { return std::string(tested.param).substr(5); });

}  // namespace
}  // namespace ferret
