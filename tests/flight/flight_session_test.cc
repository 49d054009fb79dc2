// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sessions as flight recorders: what asks for a dump, what is in it, and that everything else is counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ferret/c_api.h"
#include "ferret/collected_events.h"
#include "ferret/scope.h"
#include "runtime/export/registry.h"
#include "runtime/session/flight_options.h"
#include "tests/session/session_kit.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

using ::testing::HasSubstr;

// The latest instances of the exporter "seen", by dump.
std::mutex g_mutex;
std::vector<std::shared_ptr<MemoryCollector>> g_dumps;

std::shared_ptr<MemoryCollector> NewDump() {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_dumps.push_back(std::make_shared<MemoryCollector>());
  return g_dumps.back();
}

// Makes its collector when it is opened: a session makes one that it never opens.
class SeenExporter final : public Exporter {
 public:
  absl::Status Open(const SessionInfo& info) override {
    to_ = std::make_unique<MemoryExporter>(NewDump());
    return to_->Open(info);
  }
  absl::Status Export(const EventBatch& batch) override { return to_->Export(batch); }
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override { return to_->Flush(progress, deadline); }
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override { return to_->Close(progress, deadline); }

 private:
  std::unique_ptr<MemoryExporter> to_;
};

std::shared_ptr<Latch> g_hanging;

void RegisterOnce() {
  static const bool registered = [] {
    // Plug-ins are registered before a session, too.
    EXPECT_TRUE(ExporterRegistry::Global()
                    .Register("seen", [](const ExporterSpec&) -> absl::StatusOr<std::unique_ptr<Exporter>> {
                      return std::make_unique<SeenExporter>();
                    })
                    .ok());
    EXPECT_TRUE(ExporterRegistry::Global()
                    .Register("hanging", [](const ExporterSpec&) -> absl::StatusOr<std::unique_ptr<Exporter>> {
                      return BlockingExporter(g_hanging);
                    })
                    .ok());
    return true;
  }();
  (void)registered;
}

class FlightSession : public testing::Test {
 protected:
  FlightSession() {
    RegisterOnce();
    std::lock_guard<std::mutex> lock(g_mutex);
    g_dumps.clear();
  }
  ~FlightSession() override { Stop60().IgnoreError(); }

  static absl::Status StartWith(const std::string& flight, const std::string& exporters = "seen") {
    Options options = TestOptions();
    options.exporters = exporters;
    options.log = Options::Log::kError;
    EXPECT_TRUE(ParseFlight(flight, &options.flight)) << flight;
    return StartSession(options, {});
  }
  static size_t Dumps() {
    std::lock_guard<std::mutex> lock(g_mutex);
    return g_dumps.size();
  }
  static CollectedTrace Take(size_t dump) {
    std::lock_guard<std::mutex> lock(g_mutex);
    EXPECT_LT(dump, g_dumps.size());
    return dump < g_dumps.size() ? g_dumps[dump]->Take() : CollectedTrace();
  }
  static Error FlushNow() { return Flush(60'000); }
  static std::map<std::string, int> Names(const CollectedTrace& trace) {
    std::map<std::string, int> names;
    for (const FunctionEvent& event : trace.events) ++names[std::string(event.trace_name())];
    return names;
  }
};

TEST_F(FlightSession, WritesWhatWasRecordedBeforeTheProgramAsked) {
  ASSERT_TRUE(StartWith("64M").ok());
  for (int i = 0; i < 100; ++i) { FERRET_SCOPE("work"); }
  Counter("loss", 0.5);
  EXPECT_EQ(Dump(), "");
  EXPECT_EQ(FlushNow(), "");
  for (int i = 0; i < 50; ++i) { FERRET_SCOPE("later"); }
  EXPECT_TRUE(Stop60().ok());
  ASSERT_EQ(Dumps(), 1u);
  const CollectedTrace trace = Take(0);
  EXPECT_TRUE(trace.closed);
  EXPECT_EQ(trace.info.label, "dump1");
  EXPECT_EQ(Names(trace)["work"], 100);
  EXPECT_EQ(Names(trace)["later"], 0);
  EXPECT_EQ(trace.instants.size(), 1u);
  EXPECT_EQ(trace.progress.lost.total(), 0u);
}

TEST_F(FlightSession, ShowsWhatIsOpenWhileItIsOpen) {
  ASSERT_TRUE(StartWith("64M").ok());
  const std::string long_name(300, 'n');
  {
    const Scope outer(long_name);
    { FERRET_SCOPE("closed"); }
    FERRET_SCOPE("open");
    EXPECT_EQ(Dump(), "");
    EXPECT_EQ(FlushNow(), "");
  }
  EXPECT_EQ(Dump(), "");
  EXPECT_EQ(FlushNow(), "");
  EXPECT_TRUE(Stop60().ok());
  ASSERT_EQ(Dumps(), 2u);
  const CollectedTrace hung = Take(0);
  ASSERT_EQ(hung.events.size(), 3u);
  std::map<std::string, const FunctionEvent*> by_name;
  for (const FunctionEvent& event : hung.events) by_name[std::string(event.name)] = &event;
  ASSERT_TRUE(by_name.count(long_name) == 1 && by_name.count("open") == 1 && by_name.count("closed") == 1);
  const FunctionEvent& outer = *by_name[long_name];
  const FunctionEvent& open = *by_name["open"];
  EXPECT_TRUE(outer.is_truncated && open.is_truncated);
  EXPECT_FALSE(by_name["closed"]->is_truncated);
  EXPECT_EQ(open.parent_id, outer.id);
  EXPECT_EQ(by_name["closed"]->parent_id, outer.id);
  EXPECT_EQ(outer.self_ns + open.duration_ns() + by_name["closed"]->duration_ns(), outer.duration_ns());
  const CollectedTrace over = Take(1);
  EXPECT_EQ(over.events.size(), 3u) << "each once, when it has ended";
  for (const FunctionEvent& event : over.events) EXPECT_FALSE(event.is_truncated) << event.name;
}

TEST_F(FlightSession, CountsExactlyWhatIsDumpedDiscardedAndLost) {
  // So few chunks that recording loses some, too.
  Options options = TestOptions(4);
  options.crash_dir.clear();
  ASSERT_TRUE(ParseFlight("size=1M,dumps=1000", &options.flight));
  const auto make = []() -> absl::StatusOr<std::vector<NamedExporter>> {
    return Exporters().With("seen", std::make_unique<SeenExporter>()).Take();
  };
  auto started = SessionRun::Start(options, *make(), make);
  ASSERT_TRUE(started.ok()) << started.status();
  const std::unique_ptr<SessionRun> run = *std::move(started);
  constexpr uint64_t kThreads = 4, kScopes = 30'000;
  std::atomic<uint64_t> running{kThreads};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t j = 0; j < kScopes; ++j) { FERRET_SCOPE("work"); }
      --running;
    });
  }
  while (running > 0) {
    EXPECT_TRUE(run->Dump().ok());
    EXPECT_TRUE(run->Flush(absl::Now() + absl::Seconds(60)).ok());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(run->Dump().ok());
  EXPECT_TRUE(run->Stop(absl::Now() + absl::Seconds(60)).ok());
  std::set<int64_t> dumped;  // ids are the session's
  for (size_t i = 0; i < Dumps(); ++i) {
    const CollectedTrace trace = Take(i);
    EXPECT_LE(trace.events.size() * sizeof(FunctionEvent), size_t{1} << 20);
    for (const FunctionEvent& event : trace.events) {
      // What was open then came again when it had ended.
      if (!event.is_synthesized) dumped.insert(event.id);
    }
  }
  ASSERT_EQ(run->Outputs().size(), 1u);
  const ExporterCounts counts = run->Outputs()[0].counts;
  EXPECT_EQ(counts.exported, dumped.size());
  EXPECT_EQ(counts.failed + counts.dropped + counts.waiting, 0u);
  EXPECT_EQ(counts.exported + counts.discarded + run->Losses().total(), kThreads * kScopes);
  EXPECT_EQ(counts.pushed, run->Progress().events_built);
  EXPECT_GT(counts.exported, 0u);
}

// The ring's events are held in the crash file as long as there is room: recording never waits for it.
TEST_F(FlightSession, LosesNothingToACrashFileThatHoldsLessThanTheRing) {
  const TemporaryFolder folder;
  Options options = TestOptions(128);
  options.exporters = "seen";
  options.log = Options::Log::kError;
  options.overflow = Options::Overflow::kBlock;
  options.block_limit = absl::Seconds(10);
  options.crash_dir = folder.path();
  ASSERT_TRUE(ParseFlight("1G", &options.flight));
  ASSERT_TRUE(StartSession(options, {}).ok());
  constexpr int kScopes = 600'000;  // 19 MB of records, where there is room for 8
  for (int i = 0; i < kScopes; ++i) { FERRET_SCOPE("work"); }
  EXPECT_EQ(Dump(), "");
  EXPECT_EQ(FlushNow(), "");
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(Losses().total(), 0u);
  ASSERT_EQ(Dumps(), 1u);
  EXPECT_EQ(Names(Take(0))["work"], kScopes);
}

TEST_F(FlightSession, IsAskedByASignalAndGivesItBack) {
  struct sigaction action;
  ASSERT_EQ(sigaction(SIGUSR2, nullptr, &action), 0);
  ASSERT_EQ(action.sa_handler, SIG_DFL);
  ASSERT_TRUE(StartWith("64M,signal=USR2").ok());
  { FERRET_SCOPE("work"); }
  raise(SIGUSR2);
  EXPECT_EQ(FlushNow(), "");
  ASSERT_EQ(Dumps(), 1u);
  EXPECT_EQ(Names(Take(0))["work"], 1);
  EXPECT_TRUE(Stop60().ok());
  ASSERT_EQ(sigaction(SIGUSR2, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

std::atomic<int> g_programs_own{0};

TEST_F(FlightSession, LeavesASignalAloneThatTheProgramHandlesOrIgnores) {
  for (void (*handler)(int) : {+[](int) { ++g_programs_own; }, SIG_IGN}) {
    ASSERT_NE(signal(SIGUSR1, handler), SIG_ERR);
    ASSERT_TRUE(StartWith("64M,signal=USR1").ok());
    raise(SIGUSR1);
    EXPECT_EQ(FlushNow(), "");
    EXPECT_TRUE(Stop60().ok());
    EXPECT_EQ(signal(SIGUSR1, SIG_DFL), handler);
  }
  EXPECT_EQ(g_programs_own, 1);
  EXPECT_EQ(Dumps(), 0u);
}

TEST_F(FlightSession, LeavesAHandlerThatTheProgramInstalledMeanwhile) {
  void (*const handler)(int) = [](int) { ++g_programs_own; };
  ASSERT_TRUE(StartWith("64M,signal=USR1").ok());
  ASSERT_NE(signal(SIGUSR1, handler), SIG_ERR);
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL), handler);
}

TEST_F(FlightSession, WritesASlowStepWithTheStepInIt) {
  ASSERT_TRUE(StartWith("64M,slow=1ns,dumps=1").ok());
  { FERRET_SCOPE("work"); }
  Step();
  EXPECT_EQ(FlushNow(), "");
  EXPECT_TRUE(Stop60().ok());
  ASSERT_EQ(Dumps(), 1u);
  const CollectedTrace trace = Take(0);
  EXPECT_EQ(Names(trace)["ProfilerStep#0"], 1);
  EXPECT_EQ(Names(trace)["work"], 1);
  std::string why;
  for (const auto& [name, value] : trace.info.options) {
    if (name == "FERRET_FLIGHT_DUMP") why = value;
  }
  EXPECT_THAT(why, HasSubstr("step 0 took "));
}

TEST_F(FlightSession, WritesAtTheEndIfThatWasAskedFor) {
  ASSERT_TRUE(StartWith("64M,at_exit=1").ok());
  { FERRET_SCOPE("work"); }
  EXPECT_TRUE(Stop60().ok());
  ASSERT_EQ(Dumps(), 1u);
  EXPECT_EQ(Names(Take(0))["work"], 1);
  ASSERT_TRUE(StartWith("64M").ok());
  { FERRET_SCOPE("work"); }
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(Dumps(), 1u);
}

TEST_F(FlightSession, GivesTheProgramItsLatestEventsInMemory) {
  ASSERT_TRUE(StartWith("64M", "memory").ok());
  { FERRET_SCOPE("work"); }
  EXPECT_EQ(Dump(), "");
  EXPECT_EQ(FlushNow(), "");
  EXPECT_EQ(TakeCollectedEvents().events.size(), 1u);
}

TEST_F(FlightSession, SaysWhyThereIsNoDump) {
  EXPECT_EQ(Dump(), "no session is on");
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(std::make_shared<MemoryCollector>()).Take()).ok());
  EXPECT_THAT(Dump(), HasSubstr("FERRET_FLIGHT"));
  char error[200];
  EXPECT_EQ(ferret_dump(error, sizeof(error)), -1);
  EXPECT_THAT(error, HasSubstr("FERRET_FLIGHT"));
  EXPECT_TRUE(Stop60().ok());
  ASSERT_TRUE(StartWith("64M,dumps=1").ok());
  EXPECT_EQ(ferret_dump(nullptr, 0), 0);
  EXPECT_EQ(FlushNow(), "");
  EXPECT_THAT(Dump(), HasSubstr("no more dumps"));
}

TEST_F(FlightSession, DoesNotTakeExportersThatCannotBeMadeAgain) {
  Options options = TestOptions();
  options.flight.size_bytes = 64 << 20;
  const absl::Status status =
      StartSession(options, Exporters().Memory(std::make_shared<MemoryCollector>()).Take());
  EXPECT_THAT(std::string(status.message()), HasSubstr("need names"));
}

TEST_F(FlightSession, IsStartedByCode) {
  Flight flight;
  flight.size_bytes = 4 << 20;
  flight.at_exit = true;
  EXPECT_EQ(Start("seen", flight), "");
  { FERRET_SCOPE("work"); }
  EXPECT_EQ(Stop(60'000), "");
  ASSERT_EQ(Dumps(), 1u);
  flight.size_bytes = 1;
  EXPECT_THAT(Start("seen", flight), HasSubstr("size"));
}

TEST_F(FlightSession, StopsInTimeWhileADumpHangs) {
  g_hanging = std::make_shared<Latch>();
  ASSERT_TRUE(StartWith("64M", "hanging,seen").ok());
  { FERRET_SCOPE("work"); }
  EXPECT_EQ(Dump(), "");
  EXPECT_NE(Flush(50), "");
  const absl::Time before = absl::Now();
  StopSession(absl::Seconds(10)).IgnoreError();
  EXPECT_LT(absl::Now() - before, absl::Seconds(30));
  g_hanging->Open();
  ASSERT_EQ(Dumps(), 1u);
  EXPECT_EQ(Names(Take(0))["work"], 1) << "the other exporter is not held up";
}

TEST_F(FlightSession, IsAskedByManyThreadsWhileTheyRecordAndItStops) {
  ASSERT_TRUE(StartWith("size=1M,dumps=1000000").ok());
  std::atomic<bool> done{false};
  std::atomic<int> asked{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        FERRET_SCOPE("work");
        if (Dump().empty()) ++asked;
      }
    });
  }
  while (asked < 1000) std::this_thread::yield();
  EXPECT_TRUE(Stop60().ok());
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(Dumps(), 1u);
  EXPECT_EQ(Dump(), "no session is on");
}

TEST_F(FlightSession, IsNotAForkedChilds) {
  ASSERT_TRUE(StartWith("64M,signal=USR2").ok());
  { FERRET_SCOPE("work"); }
  const pid_t child = fork();
  if (child == 0) {
    // The signal is what it was before: it ends a program that does not handle it.
    struct sigaction action;
    const bool restored = sigaction(SIGUSR2, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
    _exit(Dump() == "no session is on" && Flush(1000).empty() && Stop(1000).empty() && restored ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  raise(SIGUSR2);
  EXPECT_EQ(FlushNow(), "");
  EXPECT_EQ(Dumps(), 1u) << "the parent's recorder goes on";
}

}  // namespace
}  // namespace ferret
