// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret recover` as a user types it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/crash/crash_layout.h"
#include "runtime/crash/crash_reader.h"
#include "tests/crash/kill_rounds.h"
#include "tests/tools/program.h"
#include "tools/crash_files.h"

namespace ferret {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Outcome Recover(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {DataFile("tools/ferret"), "recover"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command);
}

class RecoverTest : public testing::Test {
 protected:
  RecoverTest() { std::filesystem::create_directory(folder_ / "crash"); }

  void Run(const std::string& exporters) {
    markers_.Clear();
    program_ = std::make_unique<Program>(
        std::vector<std::string>{DataFile("tests/crash/killed_program"), "1", "0", markers_.path()},
        std::vector<std::string>{"FERRET_EXPORT=" + exporters, "FERRET_BUFFER_SIZE=8M",
                                 "FERRET_CRASH_DIR=" + folder_ / "crash", "FERRET_OVERFLOW=block",
                                 "FERRET_BLOCK_LIMIT=10s"});
    while (markers_.of(0) < 5000 && program_->Lives()) sched_yield();
  }
  ~RecoverTest() override { Kill(); }

  void Kill() {
    if (program_ == nullptr) return;
    kill(program_->pid(), SIGKILL);
    EXPECT_EQ(program_->Wait().signal, SIGKILL);
    program_.reset();
  }
  std::string CrashFile() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "crash")) return entry.path().string();
    return "";
  }

  // Whether the crash file says how far the output is, which comes with the first flush.
  bool HasOutput() const {
    const auto file = MappedFile::Open(CrashFile());
    if (!file.ok()) return true;  // never, and then the test fails
    const auto contents = internal::CrashContents::Read((*file)->bytes());
    return !contents.ok() || !(*contents)->outputs().at(0).path.empty();
  }
  // In the crash file, as another program would find it there.
  void Overwrite(size_t offset, const void* bytes, size_t size) const {
    const int file = open(CrashFile().c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(pwrite(file, bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
    close(file);
  }

  // In memory: an exporter that a disk keeps for seconds would be given up.
  TemporaryFolder folder_{"/dev/shm"};
  Markers markers_{folder_ / "markers"};
  std::unique_ptr<Program> program_;
};

// Of a process that writes a trace.
class FerretRecover : public RecoverTest {
 protected:
  FerretRecover() { Run("chrome_trace:" + folder_ / "trace.json"); }
};

TEST_F(FerretRecover, LeavesProcessesThatLiveAlone) {
  const Outcome outcome = Recover({CrashFile()});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("is still recording"));
  EXPECT_EQ(Recover({folder_ / "crash"}).exit_status, 0) << "there may be others in the folder";
  EXPECT_EQ(Recover({"--live", CrashFile()}).exit_status, 1);
  const Outcome live = Recover({"--live", "--all", "--export", "chrome_trace:" + folder_ / "live.json", CrashFile()});
  EXPECT_EQ(live.exit_status, 0) << live.err;
  TraceOps ops;
  ReadOps(folder_ / "live.json", &ops);
  EXPECT_GT(ops.events["f0"], 0);
}

// Its pid is another process's there, or nobody's.
TEST_F(FerretRecover, LeavesProcessesOfOtherContainersAlone) {
  const int32_t nobody = INT32_MAX;
  Overwrite(offsetof(internal::CrashHeader, pid), &nobody, sizeof(nobody));
  const Outcome outcome = Recover({folder_ / "crash"});
  EXPECT_THAT(outcome.err, HasSubstr("skipped, process 2147483647 still records in another container"));
  EXPECT_NE(CrashFile(), "");
  const int32_t pid = program_->pid();
  Overwrite(offsetof(internal::CrashHeader, pid), &pid, sizeof(pid));
  Kill();
  EXPECT_EQ(Recover({folder_ / "crash"}).exit_status, 0);
  EXPECT_EQ(CrashFile(), "");
}

TEST_F(FerretRecover, GoesOnWithNoOutputOfAnotherHost) {
  Kill();
  const char other[] = "another boot id";
  Overwrite(offsetof(internal::CrashHeader, boot_id), other, sizeof(other));
  const Outcome outcome = Recover({CrashFile()});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("from another host"));
  EXPECT_EQ(Recover({folder_ / "crash"}).exit_status, 0) << "it is nobody's fault that it lies there";
  ASSERT_NE(CrashFile(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "trace.json"));
  const Outcome exported = Recover({"--all", "--export=chrome_trace:" + folder_ / "other.json", CrashFile()});
  EXPECT_EQ(exported.exit_status, 0) << exported.err;
  TraceOps ops;
  ReadOps(folder_ / "other.json", &ops);
  EXPECT_GT(ops.events["f0"], 0);
}

TEST_F(FerretRecover, LeavesAFileAloneThatIsBeingRecovered) {
  Kill();
  const int file = open(CrashFile().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  EXPECT_THAT(Recover({folder_ / "crash"}).err, HasSubstr("or somebody recovers it"));
  EXPECT_NE(CrashFile(), "");
  close(file);
  EXPECT_EQ(Recover({folder_ / "crash"}).exit_status, 0);
}

TEST_F(FerretRecover, OfManyAtOnceOneRecovers) {
  Kill();
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 6; ++i) {
    programs.push_back(std::make_unique<Program>(
        std::vector<std::string>{DataFile("tools/ferret"), "recover", folder_ / "crash"}));
  }
  int recovered = 0;
  for (const auto& program : programs) {
    const Outcome outcome = program->Wait();
    EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
    recovered += outcome.err.find(" recovered") != std::string::npos;
  }
  EXPECT_EQ(recovered, 1);
  TraceOps ops;
  ReadOps(folder_ / "trace.json", &ops);
  ExpectWhole(ops, "f0", markers_.of(0));
}

TEST_F(FerretRecover, GoesOnWithNoOutputThatAnotherUserNamed) {
  Kill();
  ASSERT_EQ(chmod(CrashFile().c_str(), 0666), 0);
  const Outcome writable = Recover({CrashFile()});
  EXPECT_EQ(writable.exit_status, 1);
  EXPECT_THAT(writable.err, HasSubstr("skipped, other users may write to it"));
  ASSERT_EQ(chmod(CrashFile().c_str(), 0600), 0);
  if (chown(CrashFile().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root can give a file to another user";
  EXPECT_EQ(Recover({CrashFile()}).exit_status, 1);
  const Outcome foreign = Recover({folder_ / "crash"});
  EXPECT_EQ(foreign.exit_status, 0) << "nobody named it";
  EXPECT_THAT(foreign.err, HasSubstr("skipped, it belongs to user 65534"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "trace.json"));
  EXPECT_NE(CrashFile(), "");
  EXPECT_EQ(Recover({"--export=chrome_trace:" + folder_ / "own.json", CrashFile()}).exit_status, 0);
}

TEST_F(FerretRecover, FollowsNoLinks) {
  while (!HasOutput()) sched_yield();
  Kill();
  const std::string temporary = folder_ / "trace.json.tmp";
  const std::string real = CrashFile();
  std::filesystem::create_symlink(real, folder_ / "link");
  EXPECT_THAT(Recover({folder_ / "link"}).err, HasSubstr("a symbolic link"));
  WriteFile(folder_ / "precious", "text");
  std::filesystem::remove(temporary);
  std::filesystem::create_symlink(folder_ / "precious", temporary);
  const Outcome outcome = Recover({real});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("trace.json.tmp: not a regular file"));
  EXPECT_EQ(ReadFile(folder_ / "precious"), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(temporary));
  EXPECT_TRUE(std::filesystem::exists(real));
}

TEST_F(FerretRecover, SaysWhatItFoundAndRemovesTheFile) {
  Kill();
  const Outcome outcome = Recover({folder_ / "crash"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("records of 1 thread in"));
  EXPECT_THAT(outcome.err, HasSubstr("recovered"));
  EXPECT_EQ(CrashFile(), "");
  TraceOps ops;
  ReadOps(folder_ / "trace.json", &ops);
  ExpectWhole(ops, "f0", markers_.of(0));
}

TEST_F(FerretRecover, OtherOutputsGetWhatIsNotExportedOrAll) {
  Kill();
  const std::string rest = folder_ / "rest.json";
  const std::string all = folder_ / "all.json";
  EXPECT_EQ(Recover({"--export=chrome_trace:" + rest, CrashFile()}).exit_status, 0);
  EXPECT_EQ(Recover({"--export=chrome_trace:" + all, "--all", CrashFile()}).exit_status, 0);
  TraceOps rest_ops, all_ops;
  ReadOps(rest, &rest_ops);
  ReadOps(all, &all_ops);
  EXPECT_EQ(rest_ops.events["life0"], 1);
  EXPECT_LE(rest_ops.events["f0"], all_ops.events["f0"]);
  for (const auto& [number, times] : rest_ops.numbers["f0"]) EXPECT_EQ(all_ops.numbers["f0"][number], times);
  // The process's own output can still be completed.
  ASSERT_NE(CrashFile(), "");
  EXPECT_EQ(Recover({CrashFile()}).exit_status, 0);
  TraceOps ops;
  ReadOps(folder_ / "trace.json", &ops);
  ExpectWhole(ops, "f0", markers_.of(0));
}

TEST_F(FerretRecover, KeepsTheFileWhenAskedTo) {
  Kill();
  EXPECT_EQ(Recover({"--keep", CrashFile()}).exit_status, 0);
  EXPECT_NE(CrashFile(), "");
}

TEST_F(FerretRecover, SaysThatItCannotRemoveTheFile) {
  Kill();
  const std::string file = CrashFile();
  // As root as elsewhere: a place where something is mounted.
  const Outcome outcome = RunProgram({"unshare", "-Urm", "sh", "-c",
                                      "mount --bind " + file + " " + file + " || exit 77; exec " +
                                          DataFile("tools/ferret") + " recover " + file});
  if (outcome.exit_status == 77 || outcome.err.find("unshare:") != std::string::npos) {
    GTEST_SKIP() << "nothing can be mounted here: " << outcome.err;
  }
  EXPECT_EQ(outcome.exit_status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("recovered, but it cannot be removed: "));
}

TEST_F(FerretRecover, LeavesNothingOfARecoveryThatWasInterrupted) {
  while (!HasOutput()) sched_yield();
  Kill();
  // What it had put aside, and what it had written by then.
  std::filesystem::copy_file(folder_ / "trace.json.tmp", folder_ / "trace.json.tmp.recovering");
  EXPECT_EQ(Recover({CrashFile()}).exit_status, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 2) << "the trace and the markers";
  TraceOps ops;
  ReadOps(folder_ / "trace.json", &ops);
  ExpectWhole(ops, "f0", markers_.of(0));
}

TEST_F(FerretRecover, LeavesAloneWhatAnotherProcessWritesAfterARecoveryThatWasInterrupted) {
  while (!HasOutput()) sched_yield();
  Kill();
  std::filesystem::rename(folder_ / "trace.json.tmp", folder_ / "trace.json.tmp.recovering");
  WriteFile(folder_ / "trace.json.tmp", "of somebody else");
  EXPECT_EQ(Recover({CrashFile()}).exit_status, 0);
  EXPECT_EQ(ReadFile(folder_ / "trace-0.json"), "of somebody else");
}

TEST_F(FerretRecover, AnOutputThatCannotBeWrittenLeavesEverythingAsItWas) {
  Kill();
  // Where the output is to be put stands a folder now.
  std::filesystem::create_directory(folder_ / "trace.json");
  const std::string before = ReadFile(folder_ / "trace.json.tmp");
  const Outcome outcome = Recover({CrashFile()});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not everything could be recovered"));
  EXPECT_NE(CrashFile(), "");
  EXPECT_EQ(ReadFile(folder_ / "trace.json.tmp"), before);
  std::filesystem::remove(folder_ / "trace.json");
  EXPECT_EQ(Recover({CrashFile()}).exit_status, 0);
  TraceOps ops;
  ReadOps(folder_ / "trace.json", &ops);
  ExpectWhole(ops, "f0", markers_.of(0));
}

using FerretRecoverWithoutOutputs = RecoverTest;

TEST_F(FerretRecoverWithoutOutputs, KeepsTheFileAndSaysWhatMakesANewOutputOfIt) {
  Run("table:" + folder_ / "table.txt");
  Kill();
  const std::string file = CrashFile();
  const Outcome outcome = Recover({file});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("ferret recover --all --export chrome_trace:recovered.json " + file));
  EXPECT_EQ(CrashFile(), file);
  EXPECT_EQ(Recover({"--all", "--export=chrome_trace:" + folder_ / "new.json", file}).exit_status, 0);
  TraceOps ops;
  ReadOps(folder_ / "new.json", &ops);
  EXPECT_EQ(ops.events["life0"], 1);
}

// Each run has an id of its own, by which files of one run are told from those that may be replaced.
TEST_F(FerretRecoverWithoutOutputs, OfSeveralRunsEachGetsANewOutput) {
  std::vector<std::string> pids;
  for (int run = 0; run < 2; ++run) {
    Run("chrome_trace:" + folder_ / "trace.json");
    pids.push_back(std::to_string(program_->pid()));
    Kill();
  }
  const auto names_of = [&](const std::string& first) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.rfind(first, 0) != 0) continue;
      names.push_back(name);
      TraceOps ops;
      ReadOps(entry.path(), &ops);
      EXPECT_EQ(ops.events["life0"], 1) << name;
    }
    return names;
  };
  const Outcome outcome = Recover({"--all", "--export=chrome_trace:" + folder_ / "new.json", folder_ / "crash"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(names_of("new"), AnyOf(UnorderedElementsAre("new.json", "new-" + pids[0] + ".json"),
                                     UnorderedElementsAre("new.json", "new-" + pids[1] + ".json")));
  EXPECT_EQ(Recover({"--all", "--export=chrome_trace:" + folder_ / "of-%p.json", folder_ / "crash"}).exit_status, 0);
  EXPECT_THAT(names_of("of"), UnorderedElementsAre("of-" + pids[0] + ".json", "of-" + pids[1] + ".json"));
}

TEST_F(FerretRecoverWithoutOutputs, FerretRunKeepsTheFileToo) {
  program_ = std::make_unique<Program>(
      std::vector<std::string>{DataFile("tools/ferret"), "run", "--no-torch", "--export",
                               "table:" + folder_ / "table.txt", "--", "/bin/sh", "-c",
                               DataFile("tests/crash/killed_program") + " 1 0 " + markers_.path() +
                                   " & echo $!; wait $!; true"},
      std::vector<std::string>{"FERRET_BUFFER_SIZE=8M", "FERRET_CRASH_DIR=" + folder_ / "crash"});
  const pid_t killed = std::stoi(program_->ReadLine());
  while (markers_.of(0) < 5000 && program_->Lives()) sched_yield();
  kill(killed, SIGKILL);
  const Outcome outcome = program_->Wait();
  program_.reset();
  EXPECT_THAT(outcome.err, HasSubstr("kept, no output can be gone on with"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("nothing was recorded")));
  EXPECT_NE(CrashFile(), "");
}

TEST(FerretRecoverArguments, MistakesAreOneLineAndTheUsage) {
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{}, {"--no-such-option", "x"}, {"--export"}, {"--export", "", "x"}, {"--export=", "x"},
        {"--all", "x"}, {"--all", "--export=", "x"}, {"--"}}) {
    const Outcome outcome = Recover(wrong);
    EXPECT_EQ(outcome.exit_status, 125);
    EXPECT_THAT(outcome.err, HasSubstr("usage: ferret recover"));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_THAT(Recover({"--help"}).out, StartsWith("usage: ferret recover"));
  const Outcome operand = Recover({"--", "--keep"});
  EXPECT_EQ(operand.exit_status, 1);
  EXPECT_THAT(operand.err, StartsWith("ferret: --keep: "));
}

TEST(FerretRecoverArguments, ExportersThatCannotBeMadeAreOneLineBeforeAnythingIsDone) {
  for (const char* bad : {"chrme_trace:x.json", "chrome_trace?levle=3", "chrome_trace:%q", "x y"}) {
    const Outcome outcome = Recover({"--export", bad, "one.crash", "two.crash"});
    EXPECT_EQ(outcome.exit_status, 125) << bad;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr(".crash")));
  }
}

TEST(FerretRecoverArguments, FilesOfOthersAreRefusedWithAReason) {
  const TemporaryFolder folder;
  WriteFile(folder / "empty.crash", "");
  WriteFile(folder / "text.crash", std::string(10'000, 'x'));
  for (const char* name : {"empty.crash", "text.crash", "missing.crash"}) {
    const Outcome outcome = Recover({folder / name});
    EXPECT_EQ(outcome.exit_status, 1) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name));
  }
  const Outcome none = Recover({folder.path()});
  EXPECT_EQ(none.exit_status, 0);
  EXPECT_THAT(none.err, HasSubstr("no crash files"));
}

}  // namespace
}  // namespace ferret
