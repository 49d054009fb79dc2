// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Programs that become other ones by exec, start them, or leave children behind, in crash mode and without it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/crash/process_stamp.h"
#include "tests/crash/kill_rounds.h"
#include "tests/otlp/fault_server.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Exec : public testing::Test {
 protected:
  Exec() { std::filesystem::create_directory(folder_ / "crash"); }

  std::vector<std::string> InCrashMode() const {
    return {"FERRET_EXPORT=chrome_trace:" + folder_ / "trace.json", "FERRET_BUFFER_SIZE=2M",
            "FERRET_CRASH_DIR=" + folder_ / "crash"};
  }
  std::vector<std::string> CrashFiles() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "crash")) files.push_back(entry.path());
    return files;
  }
  Outcome Recover() const { return RunProgram({DataFile("tools/ferret"), "recover", folder_ / "crash"}); }
  static int Scopes(const std::string& path) {
    TraceOps ops;
    ReadOps(path, &ops);
    return ops.events["scope"];
  }

  const std::string program_ = DataFile("tests/session/fork_program");
  TemporaryFolder folder_;
};

TEST_F(Exec, AnotherProgramInheritsNoFileAndNoConnection) {
  otlp::FaultServer server([](const otlp::FaultRequest&) { return otlp::Answer(200); });
  const std::vector<std::string> variables = {
      "FERRET_EXPORT=chrome_trace:" + folder_ / "trace.json" + ",otlp_file:" + folder_ / "spans.jsonl" + ",table:" +
          folder_ / "table.txt" + ",otlp:" + server.Url(""),
      "FERRET_BUFFER_SIZE=2M", "FERRET_CRASH_DIR=" + folder_ / "crash"};
  const auto expect_none = [&](const std::vector<std::string>& start) {
    std::vector<std::string> command = {program_};
    command.insert(command.end(), start.begin(), start.end());
    for (const char* word : {"/bin/sh", "-c", "for fd in /proc/$$/fd/*; do echo \"$fd $(readlink $fd)\"; done"}) {
      command.push_back(word);
    }
    const Outcome outcome = RunProgram(command, variables);
    int sockets = 0;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) sockets += line.find("socket:") != line.npos;
    EXPECT_THAT(outcome.out, HasSubstr("/fd/0")) << outcome.err;
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr(folder_.path())));
    // libcurl's own pair, which wakes its thread, is nobody's connection.
    EXPECT_TRUE(sockets == 0 || sockets == 2) << outcome.out;
  };
  expect_none({"exec", "100", "clean"});
  expect_none({"spawn", "100"});
  EXPECT_GE(server.connections(), 1);
}

TEST_F(Exec, KeepsWhatWasFlushedAndTheNewProgramMakesItsOwnFile) {
  // The same program once more, with the same pid and the same variables.
  const Outcome outcome = RunProgram({DataFile("tools/ferret"), "run", "--no-torch", "--export",
                                      "chrome_trace:" + folder_ / "trace.json", "--", program_, "exec", "100", "clean",
                                      program_, "children", "0", "exit"});
  EXPECT_EQ(outcome.exit_status, 7) << outcome.err;
  std::vector<int> scopes;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.is_regular_file()) scopes.push_back(Scopes(entry.path()));
  }
  EXPECT_THAT(scopes, testing::UnorderedElementsAre(100, 5)) << outcome.err;
}

TEST_F(Exec, LeavesACrashFileThatIsRecoveredWhileTheNewProgramRuns) {
  Program program({program_, "exec", "100", "dirty", "/bin/sh", "-c", "echo here; exec sleep 1000"}, InCrashMode());
  const std::string line = program.ReadLine();
  EXPECT_EQ(line, "here\n");
  ASSERT_THAT(CrashFiles(), SizeIs(1));
  const Outcome recovered = Recover();
  EXPECT_EQ(recovered.exit_status, 0) << recovered.err;
  EXPECT_TRUE(program.Lives()) << "under the same pid";
  EXPECT_THAT(CrashFiles(), IsEmpty()) << recovered.err;
  EXPECT_EQ(Scopes(folder_ / "trace.json"), 200);
  kill(program.pid(), SIGKILL);
  EXPECT_EQ(program.Wait().signal, SIGKILL);
}

TEST_F(Exec, InCrashModeTheNewProgramLeavesTheOldFileAlone) {
  const Outcome outcome =
      RunProgram({program_, "exec", "100", "dirty", program_, "children", "0", "exit"}, InCrashMode());
  EXPECT_EQ(outcome.exit_status, 7) << outcome.err;
  ASSERT_THAT(CrashFiles(), SizeIs(1)) << "the first program's; the second one has ended well";
  EXPECT_EQ(Recover().exit_status, 0);
  int scopes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") scopes += Scopes(entry.path());
  }
  EXPECT_EQ(scopes, 205);
}

TEST(Writers, RunForAsLongAsTheyHaveTheFileMapped) {
  TemporaryFolder folder;
  WriteFile(folder / "ferret-1-0.crash", std::string(4096, 'x'));
  const internal::ProcessStamp stamp = internal::OwnProcessStamp();
  EXPECT_FALSE(IsWriterRunning(stamp, folder / "ferret-1-0.crash"));
  const int file = open((folder / "ferret-1-0.crash").c_str(), O_RDWR | O_CLOEXEC);
  void* const other = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  EXPECT_FALSE(IsWriterRunning(stamp, folder / "ferret-1-0.crash")) << "a copy of a forked child";
  void* const own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT_TRUE(IsWriterRunning(stamp, folder / "ferret-1-0.crash"));
  std::filesystem::rename(folder / "ferret-1-0.crash", folder / "moved");
  EXPECT_TRUE(IsWriterRunning(stamp, folder / "moved")) << "under whatever name";
  mprotect(own, 4096, PROT_READ);
  EXPECT_FALSE(IsWriterRunning(stamp, folder / "moved")) << "who only reads it";
  munmap(other, 4096);
  munmap(own, 4096);
  close(file);
}

// A process that is killed while its children live, silent ones and such as record.
TEST_F(Exec, AKilledParentIsRecoveredWhileItsChildrenLive) {
  for (const char* policy : {"FERRET_FORK=off", "FERRET_FORK=restart"}) {
    SCOPED_TRACE(policy);
#if defined(__SANITIZE_ADDRESS__)
    // Its allocator may be locked by a thread that is not in the child.
    if (policy == std::string("FERRET_FORK=restart")) continue;
#endif
    std::vector<std::string> variables = InCrashMode();
    variables.push_back(policy);
    Program program({program_, "orphan", "100"}, variables);
    const pid_t child = std::stoi(program.ReadLine());
    kill(program.pid(), SIGKILL);
    // Its pipes are still open in the child.
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WEXITED | WNOWAIT), 0);
    const Outcome recovered = Recover();
    EXPECT_EQ(recovered.exit_status, 0) << recovered.err;
    EXPECT_EQ(Scopes(folder_ / "trace.json"), 100);
    const bool records = policy == std::string("FERRET_FORK=restart");
    EXPECT_THAT(CrashFiles(), SizeIs(records ? 1 : 0)) << "the child's";
    kill(child, SIGUSR1);  // has it end
    EXPECT_EQ(program.Wait().signal, SIGKILL);
    int whole = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      whole += entry.is_regular_file() && entry.path().extension() == ".json";
      if (entry.is_regular_file()) std::filesystem::remove(entry.path());
    }
    EXPECT_EQ(whole, records ? 2 : 1);
    EXPECT_THAT(CrashFiles(), IsEmpty());
  }
}

// A receiver that is away keeps the recovery for a minute. Ctrl-C does not have to wait for that.
TEST_F(Exec, ARecoveryByFerretRunCanBeInterrupted) {
  otlp::FaultServer server([](const otlp::FaultRequest&) { return otlp::Answer(503); });
  const Markers markers(folder_ / "markers");
  Program run({DataFile("tools/ferret"), "run", "--no-torch", "--export", "otlp:" + server.Url(""), "--",
               DataFile("tests/crash/killed_program"), "1", "0", markers.path()},
              {"FERRET_BUFFER_SIZE=2M", "FERRET_CRASH_DIR=" + folder_ / "crash"});
  while (markers.of(0) < 1000 && run.Lives()) sched_yield();
  ASSERT_THAT(CrashFiles(), SizeIs(1));
  const std::string file = CrashFiles()[0];
  kill(std::stoi(file.substr(file.rfind('/') + 8)), SIGKILL);  // ferret-PID-0.crash
  while (run.Lives()) {
    kill(-run.pid(), SIGINT);
    usleep(10'000);
  }
  const Outcome outcome = run.Wait();
  EXPECT_EQ(outcome.signal, SIGINT) << outcome.exit_status << outcome.err;
  EXPECT_THAT(CrashFiles(), SizeIs(1)) << "it can be recovered later";
}

}  // namespace
}  // namespace ferret
