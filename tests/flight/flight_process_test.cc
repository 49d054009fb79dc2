// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Programs that record as flight recorders and are killed, or told to dump, by somebody else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crash/kill_rounds.h"

namespace ferret {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRingBytes = uint64_t{1} << 20;
constexpr uint64_t kBufferBytes = uint64_t{8} << 20;

struct FlightRound {
  int signal = SIGKILL;
  int threads = 1;
  bool under_run = false;
  std::string flight = "size=1M";
};

// The numbers of each op without a gap, up to the latest that was recorded; more of them never.
void ExpectLatest(const TraceOps& ops, const std::string& name, uint64_t marker, uint64_t* from) {
  const std::map<int64_t, int>& numbers = ops.numbers.at(name);
  const uint64_t first = static_cast<uint64_t>(numbers.begin()->first);
  const uint64_t last = static_cast<uint64_t>(numbers.rbegin()->first);
  EXPECT_EQ(last - first + 1, numbers.size()) << name << " has gaps";
  for (const auto& [number, times] : numbers) ASSERT_EQ(times, 1) << name << " " << number;
  EXPECT_GE(last, marker) << name;
  EXPECT_LE(last, marker + 1) << name;
  *from = first;
}

class FlightProcess : public testing::Test {
 protected:
  std::vector<std::string> Environment(const std::string& flight) const {
    return {"FERRET_EXPORT=chrome_trace:" + (folder_ / "trace.json"), "FERRET_CRASH_DIR=" + memory_.path(), "FERRET_FLIGHT=" + flight,
            "FERRET_BUFFER_SIZE=8M", "FERRET_OVERFLOW=block", "FERRET_BLOCK_LIMIT=10s"};
  }
  int PidInCrashFolder() const {
    for (const auto& entry : std::filesystem::directory_iterator(memory_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("ferret-", 0) == 0) return std::stoi(name.substr(7));
    }
    return 0;
  }
  std::vector<std::string> Traces() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name != "markers") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The program is killed when it has recorded far more than the ring holds; what is recovered is the last of it. Says
  // whether all threads are in that: one that was not given a processor shortly before has nothing among the latest.
  void RunRound(const FlightRound& round, bool* all) {
    SCOPED_TRACE(testing::Message() << "signal " << round.signal << ", " << round.threads << " threads, under ferret run "
                                    << round.under_run);
    const Markers markers(folder_ / "markers");
    std::vector<std::string> command = {DataFile("tests/crash/killed_program"), std::to_string(round.threads), "0",
                                        markers.path()};
    std::vector<std::string> environment = Environment(round.flight);
    if (round.under_run) {
      const std::vector<std::string> run = {DataFile("tools/ferret"), "run", "--no-torch", "--flight", round.flight, "--"};
      command.insert(command.begin(), run.begin(), run.end());
      environment.erase(environment.begin() + 2);
    }
    constexpr uint64_t kOps = 1'000'000;
    Program program(command, environment);
    while (markers.sum(round.threads) < kOps && program.Lives()) sched_yield();
    const int pid = round.under_run ? PidInCrashFolder() : program.pid();
    ASSERT_GT(pid, 0);
    kill(pid, round.signal);
    const Outcome outcome = program.Wait();
    ASSERT_EQ(outcome.signal, round.signal) << outcome.exit_status << outcome.err;
    if (!round.under_run) {
      const Outcome recovered = RunProgram({DataFile("tools/ferret"), "recover", memory_.path()});
      ASSERT_EQ(recovered.exit_status, 0) << recovered.err;
      EXPECT_THAT(recovered.err, HasSubstr("trace-recovered.json"));
    }
    ASSERT_EQ(Traces(), std::vector<std::string>{"trace-recovered.json"}) << outcome.err;
    TraceOps ops;
    ReadOps(folder_ / "trace-recovered.json", &ops);
    if (HasFatalFailure()) return;
    int events = 0;
    for (const auto& [name, count] : ops.events) events += count;
    for (int i = 0; i < round.threads; ++i) {
      EXPECT_EQ(ops.events["life" + std::to_string(i)], 1) << "what is open is carried along";
      const std::string name = (i % 2 == 0 ? "f" : "b") + std::to_string(i);
      if (ops.numbers.count(name) == 0) {
        *all = false;
        continue;
      }
      uint64_t from = 0;
      ExpectLatest(ops, name, markers.of(i), &from);
      if (HasFatalFailure()) return;
      EXPECT_GT(from, 1u) << "the beginning was discarded";
    }
    // What the ring holds, and what may have been recorded before the drain came to read it: 48 bytes for an op at least.
    EXPECT_LE(static_cast<uint64_t>(events), kRingBytes / 128 + kBufferBytes / 32);
    EXPECT_GE(static_cast<uint64_t>(events), kRingBytes / 128 / 2);
    std::filesystem::remove(folder_ / "trace-recovered.json");
  }

  const TemporaryFolder folder_;
  const TemporaryFolder memory_{"/dev/shm"};
};

TEST_F(FlightProcess, LeavesItsLatestEventsToARecoveryWhenItIsKilled) {
  for (const FlightRound& round :
       {FlightRound{SIGKILL, 1, false}, FlightRound{SIGSEGV, 2, false}, FlightRound{SIGKILL, 4, true}}) {
    bool all = false;
    for (int tries = 0; tries < 20 && !all; ++tries) {
      all = true;
      RunRound(round, &all);
      if (HasFailure()) return;
    }
    EXPECT_TRUE(all) << round.threads;
  }
}

TEST_F(FlightProcess, ThatNobodyAskedForAnythingLeavesNoFileAndFerretRunSaysSo) {
  const Outcome outcome = RunProgram({DataFile("tools/ferret"), "run", "--no-torch", "--flight", "64M", "--",
                                      DataFile("tests/session/recording_program"), "return"},
                                     {"FERRET_EXPORT=chrome_trace:" + (folder_ / "trace.json")});
  EXPECT_EQ(outcome.exit_status, 7) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("flight recorder, no dump: 0 events, none lost"));
  EXPECT_TRUE(Traces().empty());
}

TEST_F(FlightProcess, RefusesABadSpecificationBeforeTheProgramRuns) {
  const Outcome outcome = RunProgram({DataFile("tools/ferret"), "run", "--flight", "last=never", "--", "/bin/true"});
  EXPECT_NE(outcome.exit_status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("FERRET_FLIGHT=\"last=never\" is not allowed: expected 64M, 30s or"));
}

TEST_F(FlightProcess, DumpsWhenASignalComesAndGoesOn) {
  const Markers markers(folder_ / "markers");
  Program program({DataFile("tests/crash/killed_program"), "1", "0", markers.path()}, Environment("size=1M,signal=USR2"));
  for (int dump = 1; dump <= 2; ++dump) {
    const uint64_t before = markers.of(0);
    while (markers.of(0) < before + 20'000 && program.Lives()) sched_yield();
    const uint64_t recorded = markers.of(0);
    ASSERT_EQ(kill(program.pid(), SIGUSR2), 0);
    const std::string path = folder_ / ("trace-dump" + std::to_string(dump) + ".json");
    while (!std::filesystem::exists(path) && program.Lives()) sched_yield();
    TraceOps ops;
    ReadOps(path, &ops);
    ASSERT_FALSE(HasFatalFailure());
    const std::map<int64_t, int>& numbers = ops.numbers["f0"];
    ASSERT_FALSE(numbers.empty());
    EXPECT_GE(static_cast<uint64_t>(numbers.rbegin()->first), recorded) << "everything before the signal";
    EXPECT_EQ(ops.events["life0"], 1) << "what is open is shown";
  }
  kill(program.pid(), SIGKILL);
  const Outcome outcome = program.Wait();
  EXPECT_THAT(outcome.err, HasSubstr("flight recorder: dump 1, asked for by a signal: "));
  const Outcome recovered = RunProgram({DataFile("tools/ferret"), "recover", memory_.path()});
  EXPECT_EQ(recovered.exit_status, 0) << recovered.err;
  EXPECT_EQ(Traces(), (std::vector<std::string>{"trace-dump1.json", "trace-dump2.json", "trace-recovered.json"}));
}

}  // namespace
}  // namespace ferret
