// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret inspect` as a user types it who wonders why a program hangs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <rapidjson/document.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "runtime/crash/crash_reader.h"
#include "tests/tools/program.h"
#include "tools/crash_files.h"
#include "tools/inspect_report.h"
#include "tools/inspect_targets.h"

namespace ferret {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Outcome Inspect(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {DataFile("tools/ferret"), "inspect"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command);
}

class FerretInspect : public testing::Test {
 protected:
  FerretInspect() { std::filesystem::create_directory(crash_); }
  ~FerretInspect() override {
    if (program_ != nullptr) Kill();
  }

  // Returns when it does what it is to be found doing.
  void Run(const std::string& mode, bool with_file = true) {
    // A trace of threads that record as fast as they can would fill the disk.
    const std::string output = mode == "fast" ? "table:" + folder_ / "%r.txt" : "chrome_trace:" + folder_ / "%r.json";
    std::vector<std::string> environment = {"FERRET_EXPORT=" + output, "FERRET_BUFFER_SIZE=1M", "RANK=3",
                                            "WORLD_SIZE=8"};
    if (with_file) environment.push_back("FERRET_CRASH_DIR=" + crash_);
    if (mode == "fast") {
      environment.insert(environment.end(), {"FERRET_OVERFLOW=block", "FERRET_BLOCK_LIMIT=10s"});
    }
    program_ = std::make_unique<Program>(std::vector<std::string>{DataFile("tests/inspect/hung_program"), mode},
                                         environment);
    ASSERT_EQ(program_->ReadLine(), "ready\n");
  }
  std::string Pid() const { return std::to_string(program_->pid()); }
  Outcome End() {
    kill(program_->pid(), SIGUSR1);
    const Outcome outcome = program_->Wait();
    program_.reset();
    return outcome;
  }
  void Kill() {
    kill(program_->pid(), SIGKILL);
    EXPECT_EQ(program_->Wait().signal, SIGKILL);
    program_.reset();
  }
  std::string CrashFile() const {
    for (const auto& entry : std::filesystem::directory_iterator(crash_)) return entry.path().string();
    return "";
  }

  TemporaryFolder folder_;
  const std::string crash_ = folder_ / "crash";
  std::unique_ptr<Program> program_;
};

constexpr char kOpenScopes[] =
    "thread [0-9]+ \"trainer\", tid [0-9]+[^\n]*\n"
    " *open for [0-9.]+ [a-z]+  train step\n"
    " *open for [0-9.]+ [a-z]+    wait for lock\n"
    " *ended [0-9.]+ [a-z]+ ago  step 2, took [0-9.]+ [a-z]+\n"
    " *ended [0-9.]+ [a-z]+ ago  step 1, ";

TEST_F(FerretInspect, NamesTheScopeThatHangsInAMutexAndDisturbsNothing) {
  Run("lock");
  // It has said that it is about to wait.
  const auto sleeps = ContainsRegex("\"trainer\", tid [0-9]+, sleeping");
  Outcome outcome = Inspect({Pid()});
  while (outcome.exit_status == 0 && !::testing::Value(outcome.out, sleeps)) outcome = Inspect({Pid()});
  const auto before = std::chrono::steady_clock::now();
  outcome = Inspect({Pid()});
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - before);
  std::cout << "FIGURE: ferret inspect: " << took.count() << " ms for a program that hangs in a mutex\n";
  EXPECT_LT(took.count(), 10'000);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("process " + Pid() + " hung_program, rank 3 of 8, "));
  EXPECT_THAT(outcome.out, ContainsRegex(kOpenScopes));
  EXPECT_THAT(outcome.out, ContainsRegex("thread [0-9]+ main \"[^\n]*\n *open for [0-9.]+ [a-z]+  main loop\n"));
  EXPECT_THAT(outcome.out, HasSubstr("3 more threads with nothing open, idle for "));
  EXPECT_EQ(outcome.err, "");
  const Outcome end = End();
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_EQ(end.err, "");
  rapidjson::Document trace;
  trace.Parse(ReadFile(folder_ / "3.json").c_str());
  ASSERT_FALSE(trace.HasParseError());
  int train_steps = 0, batches = 0;
  for (const auto& event : trace["traceEvents"].GetArray()) {
    if (!event.HasMember("ph") || std::string(event["ph"].GetString()) != "X") continue;
    train_steps += std::string(event["name"].GetString()) == "train step";
    batches += std::string(event["name"].GetString()) == "loaded a batch";
    EXPECT_FALSE(event.HasMember("args") && event["args"].HasMember("Truncated"));
  }
  EXPECT_EQ(train_steps, 1);
  EXPECT_EQ(batches, 3);
  EXPECT_THAT(CrashFile(), IsEmpty());
}

TEST_F(FerretInspect, NamesTheSameAfterAKill) {
  Run("lock");
  const std::string pid = Pid();
  Kill();
  const std::string before = ReadFile(CrashFile());
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{CrashFile()}, {crash_}, {"--dir", crash_, pid}}) {
    const Outcome outcome = Inspect(arguments);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("process " + pid + " hung_program, rank 3 of 8"));
    EXPECT_THAT(outcome.out, HasSubstr("dead: ages are up to its last record"));
    EXPECT_THAT(outcome.out, ContainsRegex(kOpenScopes));
    EXPECT_THAT(outcome.out, Not(HasSubstr("sleeping")));
  }
  EXPECT_EQ(ReadFile(CrashFile()), before) << "nothing is written";
}

TEST_F(FerretInspect, NeedsNoExporterToGetOn) {
  Run("stuck");
  const Outcome outcome = Inspect({Pid()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex(kOpenScopes));
  EXPECT_EQ(End().exit_status, 0);
}

TEST_F(FerretInspect, FailsWhereItCannotWrite) {
  Run("lock");
  for (const char* option : {"", "--json "}) {
    const Outcome outcome =
        RunProgram({"sh", "-c", DataFile("tools/ferret") + " inspect " + option + Pid() + " >/dev/full"});
    EXPECT_EQ(outcome.exit_status, 125);
    EXPECT_EQ(outcome.err, "ferret: cannot write to standard output\n");
  }
}

TEST_F(FerretInspect, FindsAFileThatHasNoNameAnyMore) {
  Run("lock");
  std::filesystem::remove(CrashFile());
  const Outcome outcome = Inspect({Pid()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex(kOpenScopes));
}

TEST_F(FerretInspect, TellsAllProcessesToPrograms) {
  Run("lock");
  // Whatever it says of other processes.
  const Outcome outcome = Inspect({"--all", "--json", "--last=1"});
  rapidjson::Document json;
  json.Parse(outcome.out.c_str());
  ASSERT_FALSE(json.HasParseError()) << outcome.out;
  int found = 0;
  for (const auto& process : json["processes"].GetArray()) {
    if (process["pid"].GetInt() != program_->pid()) continue;
    ++found;
    EXPECT_EQ(process["rank"].GetInt(), 3);
    EXPECT_TRUE(process["is_alive"].GetBool());
    EXPECT_EQ(process["threads"].Size(), 5u);
    for (const auto& thread : process["threads"].GetArray()) EXPECT_LE(thread["last"].Size(), 1u);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(FerretInspect, KnowsWhenAProcessHasGoneThatWasFoundBefore) {
  Run("lock");
  const auto targets = TargetsOfPid(program_->pid(), {crash_});
  ASSERT_TRUE(targets.ok()) << targets.status();
  ASSERT_EQ(targets->size(), 1u);
  EXPECT_FALSE(HasGone((*targets)[0]));
  std::filesystem::remove(CrashFile());
  EXPECT_FALSE(HasGone((*targets)[0])) << "whatever its name";
  EXPECT_EQ(End().exit_status, 0);
  EXPECT_TRUE(HasGone((*targets)[0]));
}

// Who only looks at a file has it mapped, too.
TEST_F(FerretInspect, TakesNoReaderForAProcessThatRecords) {
  Run("lock");
  const auto file = MappedFile::Open(CrashFile());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string(TargetsOfPid(getpid(), {crash_}).status().message()), HasSubstr("does not record into a file"));
}

// Without the capability to look into any process.
template <typename Work>
void WithoutPtrace(const Work& work) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before[2] = {}, now[2];
  ASSERT_EQ(syscall(SYS_capget, &header, before), 0);
  std::copy(std::begin(before), std::end(before), std::begin(now));
  now[0].effective &= ~(1u << CAP_SYS_PTRACE);
  ASSERT_EQ(syscall(SYS_capset, &header, now), 0);
  work();
  ASSERT_EQ(syscall(SYS_capset, &header, before), 0);
}

// What lies under the pid of a process that lives was left by an earlier one.
TEST_F(FerretInspect, ShowsNoFileOfAnEarlierProcessInPlaceOfOneThatMayNotBeLookedInto) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_DUMPABLE, 0);
    (void)!write(ends[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  WriteFile(crash_ + "/ferret-" + std::to_string(child) + "-0.crash", "of an earlier process");
  WithoutPtrace([&] {
    const auto targets = TargetsOfPid(child, {crash_});
    ASSERT_FALSE(targets.ok());
    EXPECT_THAT(std::string(targets.status().message()),
                ::testing::AnyOf(HasSubstr("cannot be looked into"), HasSubstr("belongs to user")));
  });
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(FerretInspect, SaysWhatToDoAboutAProcessThatHasNoFile) {
  Run("lock", false);
  const Outcome outcome = Inspect({Pid()});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("does not record into a file"), HasSubstr("FERRET_CRASH_DIR=auto")));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(FerretInspect, ReadsWhileThreadsRecordAsFastAsTheyCan) {
  Run("fast");
  const auto file = MappedFile::Open(CrashFile());
  ASSERT_TRUE(file.ok()) << file.status();
  int with_carried = 0;
  for (int round = 0; round < 200; ++round) {
    auto contents = internal::CrashContents::Read((*file)->bytes());
    ASSERT_TRUE(contents.ok()) << contents.status();
    for (const auto& [number, thread] : (*contents)->threads()) with_carried += thread.has_carried;
    InspectedProcess process;
    ASSERT_TRUE(InspectContents(contents->get(), 5, "/proc/" + Pid() + "/task", 0, &process));
    EXPECT_THAT(process.notes, IsEmpty()) << "nothing is missing or damaged";
    int recording = 0;
    for (const InspectedThread& thread : process.threads) {
      if (thread.is_main) continue;
      ++recording;
      ASSERT_GE(thread.open.size(), 1u);
      int64_t start_ns = 0;
      for (size_t i = 0; i < thread.open.size(); ++i) {
        EXPECT_EQ(thread.open[i].name, "level " + std::to_string(i));
        EXPECT_GE(thread.open[i].start_ns, start_ns);
        start_ns = thread.open[i].start_ns;
        EXPECT_LE(start_ns, process.reference_ns);
      }
      for (const InspectedEvent& event : thread.last) {
        EXPECT_THAT(std::string(event.name), ::testing::MatchesRegex("level [123]"));
        EXPECT_LE(event.end_ns, process.reference_ns);
      }
    }
    EXPECT_EQ(recording, 2);
    if (HasFailure()) break;
  }
  EXPECT_GT(with_carried, 0) << "chunks were recycled meanwhile";
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = Inspect({Pid()});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  std::printf("FIGURE: ferret inspect: %.1f ms for a process with two threads that record as fast as they can\n", took.count());
  EXPECT_EQ(End().exit_status, 0);
}

TEST(FerretInspectArguments, MistakesAreOneLineAndTheUsage) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"--no-such-option", "1"},
                                                {"--last"},
                                                {"--last", "-1", "1"},
                                                {"--last=10001", "1"},
                                                {"--dir"}}) {
    const Outcome outcome = Inspect(wrong);
    EXPECT_EQ(outcome.exit_status, 125);
    EXPECT_THAT(outcome.err, HasSubstr("usage: ferret inspect"));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_THAT(Inspect({"--help"}).out, StartsWith("usage: ferret inspect"));
  const Outcome operand = Inspect({"--", "--all"});
  EXPECT_EQ(operand.exit_status, 1);
  EXPECT_THAT(operand.err, StartsWith("ferret: --all: "));
}

TEST(FerretInspectArguments, WhatIsNoCrashFileIsRefusedWithAReason) {
  const TemporaryFolder folder;
  WriteFile(folder / "empty.crash", "");
  WriteFile(folder / "text.crash", std::string(10'000, 'x'));
  for (const char* const name : {"empty.crash", "text.crash", "missing.crash"}) {
    const Outcome outcome = Inspect({folder / name});
    EXPECT_EQ(outcome.exit_status, 1) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name));
  }
  const Outcome none = Inspect({folder.path()});
  EXPECT_EQ(none.exit_status, 1);
  EXPECT_THAT(none.err, HasSubstr("no crash files"));
  const Outcome nobody = Inspect({"--dir", folder.path(), "2147483647"});
  EXPECT_EQ(nobody.exit_status, 1);
  EXPECT_THAT(nobody.err, HasSubstr("no process 2147483647"));
}

}  // namespace
}  // namespace ferret
