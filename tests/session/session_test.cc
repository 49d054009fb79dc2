// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "ferret/internal/adapter.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

TEST(Session, DeliversWhatWasRecordedWhileItWasOn) {
  auto collector = std::make_shared<MemoryCollector>();
  { FERRET_SCOPE("before"); }
  EXPECT_FALSE(IsRecording());
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(collector).Take()).ok());
  EXPECT_TRUE(IsRecording());
  {
    FERRET_SCOPE("scope");
    Counter("loss", 0.5);
  }
  std::thread([] { Annotation annotation("elsewhere"); }).join();
  EXPECT_TRUE(Stop60().ok());
  EXPECT_FALSE(IsRecording());
  { FERRET_SCOPE("after"); }
  const CollectedTrace trace = collector->Take();
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.instants.size(), 1u);
  EXPECT_EQ(trace.progress.events_built, 3u);
  EXPECT_EQ(Losses().total(), 0u);
  EXPECT_TRUE(trace.complete());
  for (const FunctionEvent& event : trace.events) EXPECT_GE(event.start_ns, trace.info.start_ns);
}

TEST(Session, EndsOpenScopesAndBeginsTheNextOneWithoutThem) {
  auto first = std::make_shared<MemoryCollector>();
  auto second = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(first).Take()).ok());
  {
    FERRET_SCOPE("open across");
    EXPECT_TRUE(Stop60().ok());
    ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(second).Take()).ok());
    { FERRET_SCOPE("of the second"); }
  }
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = first->Take();
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_TRUE(trace.events[0].is_truncated);
  const CollectedTrace next = second->Take();
  ASSERT_EQ(next.events.size(), 1u);
  EXPECT_EQ(next.events[0].name, "of the second");
  EXPECT_EQ(next.events[0].parent_id, 0);
  EXPECT_EQ(Losses().total(), 0u);
}

TEST(Session, CannotBeStartedTwice) {
  EXPECT_EQ(Start("memory"), "");
  const Error error = Start("memory");
  EXPECT_EQ(error, "a session is on already: stop it first");
  EXPECT_TRUE(IsRecording());
  EXPECT_EQ(Stop(), "");
}

TEST(Session, StopsOnceFromAnyThreadAndTwiceWithoutHarm) {
  EXPECT_EQ(Stop(), "");
  EXPECT_EQ(Flush(100), "");
  EXPECT_EQ(Start("memory"), "");
  std::thread([] { EXPECT_EQ(Stop(10'000), ""); }).join();
  EXPECT_FALSE(IsRecording());
  EXPECT_EQ(Stop(), "");
  std::thread([] { EXPECT_EQ(Start("memory"), ""); }).join();
  EXPECT_EQ(Stop(), "");
}

TEST(Session, IsNotStartedByABadSpecAndSaysWhy) {
  for (const std::string& spec : {std::string(), std::string("nonesuch:file"), std::string("memory:target"),
                                  std::string("memory?max_events=none"), std::string("memory?colour=red"),
                                  std::string("memory,nonesuch"), std::string("chrome_trace:trace-%q.json"),
                                  std::string(",,")}) {
    const Error error = Start(spec);
    EXPECT_NE(error, "") << spec;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_FALSE(IsRecording()) << spec;
    if (spec == "nonesuch:file") {
      EXPECT_NE(error.find("nonesuch"), std::string::npos) << error;
      EXPECT_NE(error.find("chrome_trace"), std::string::npos) << "says what there is: " << error;
    }
  }
  Options options = TestOptions();
  options.buffer_bytes = 1;
  EXPECT_FALSE(StartSession(options, Exporters().Memory(std::make_shared<MemoryCollector>()).Take()).ok());
  EXPECT_EQ(Start("memory"), "");
  EXPECT_EQ(Stop(), "");
}

std::vector<bool>* g_observed = new std::vector<bool>;

TEST(Session, TellsObserversWhenItStartsAndStops) {
  EXPECT_TRUE(internal::AddSessionObserver([](bool on) { g_observed->push_back(on); }));
  EXPECT_EQ(*g_observed, std::vector<bool>());
  EXPECT_EQ(Start("memory"), "");
  EXPECT_EQ(*g_observed, std::vector<bool>{true});
  // One that comes later hears of it at once.
  EXPECT_TRUE(internal::AddSessionObserver([](bool on) { g_observed->push_back(on); }));
  EXPECT_EQ(*g_observed, (std::vector<bool>{true, true}));
  EXPECT_EQ(Stop(), "");
  EXPECT_EQ(*g_observed, (std::vector<bool>{true, true, false, false}));
  EXPECT_NE(Start("nonesuch"), "");
  EXPECT_EQ(g_observed->size(), 4u);
  for (int i = 2; i < 16; ++i) EXPECT_TRUE(internal::AddSessionObserver([](bool) {}));
  EXPECT_FALSE(internal::AddSessionObserver([](bool) {})) << "bounded";
}

TEST(Session, GivesEveryExporterTheSame) {
  auto first = std::make_shared<MemoryCollector>();
  auto second = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(first).Memory(second).Take()).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int64_t n = 0; n < 2000; ++n) {
        { FERRET_OP_SCOPE("mul", ForwardOp(n)); }
        { FERRET_OP_SCOPE("MulBackward", BackwardOp(n, ThreadId())); }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace a = first->Take(), b = second->Take();
  ASSERT_EQ(a.events.size(), 16'000u);
  ASSERT_EQ(b.events.size(), 16'000u);
  for (size_t i = 0; i < a.events.size(); ++i) {
    ASSERT_EQ(a.events[i].id, b.events[i].id);
    ASSERT_EQ(a.events[i].start_ns, b.events[i].start_ns);
    ASSERT_EQ(a.events[i].name, b.events[i].name);
  }
  ASSERT_EQ(a.links.size(), 8'000u);
  ASSERT_EQ(b.links.size(), 8'000u);
  EXPECT_EQ(a.progress.links_made, 8'000u);
}

TEST(Session, GoesOnForTheOthersWhenOneExporterFailsOrThrows) {
  auto collector = std::make_shared<MemoryCollector>();
  Exporters exporters;
  exporters.With("fails", std::make_unique<FunctionExporter>([] { return absl::UnavailableError("no disk"); }));
  exporters.With("throws", std::make_unique<FunctionExporter>([]() -> absl::Status { throw std::runtime_error("x"); }));
  auto run = SessionRun::Start(TestOptions(), exporters.Memory(collector).Take());
  ASSERT_TRUE(run.ok());
  for (int i = 0; i < 100; ++i) {
    { FERRET_SCOPE("scope"); }
    if (i == 50) (*run)->Flush(absl::Now() + absl::Seconds(60)).IgnoreError();
  }
  EXPECT_FALSE((*run)->Stop(absl::Now() + absl::Seconds(60)).ok());
  EXPECT_EQ(collector->Take().events.size(), 100u);
  const auto outputs = (*run)->Outputs();
  ASSERT_EQ(outputs.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(outputs[i].counts.pushed, 100u);
    EXPECT_EQ(outputs[i].counts.failed, 100u);
  }
  EXPECT_TRUE(outputs[0].status.ok());
  EXPECT_FALSE(outputs[1].status.ok());
  EXPECT_EQ(outputs[2].counts.exported, 100u);
}

// Nor does anything else ask for it: the exporter's thread is woken when the drain has nothing more to do.
TEST(Session, ExportsASingleScopeWithoutAFlush) {
  auto exported = std::make_shared<Latch>();
  auto exporter = std::make_unique<FunctionExporter>([exported] {
    exported->Open();
    return absl::OkStatus();
  });
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().With("latch", std::move(exporter)).Take()).ok());
  { FERRET_SCOPE("scope"); }
  exported->Wait();
  EXPECT_TRUE(Stop60().ok());
}

TEST(Session, FlushDeliversWhatOtherThreadsRecordedBefore) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(collector).Take()).ok());
  size_t recorded = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < 50; ++n) { FERRET_SCOPE("scope"); }
      });
    }
    for (std::thread& thread : threads) thread.join();
    { FERRET_SCOPE("scope"); }
    recorded += 151;
    ASSERT_EQ(Flush(60'000), "");
    ASSERT_EQ(collector->size(), recorded);
  }
  EXPECT_TRUE(Stop60().ok());
}

TEST(Session, TakesTimesFromTheMonotonicClockIfAsked) {
  Options options = TestOptions();
  options.clock = Options::Clock::kMonotonic;
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(options, Exporters().Memory(collector).Take()).ok());
  timespec before, after, real, monotonic;
  clock_gettime(CLOCK_MONOTONIC, &before);
  { FERRET_SCOPE("scope"); }
  { Scope scope("named"); }
  clock_gettime(CLOCK_MONOTONIC, &after);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &real);
  EXPECT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  ASSERT_EQ(trace.events.size(), 2u);
  const auto ns = [](const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; };
  // Unix time, to within what an adjustment of the wall clock meanwhile may do.
  const int64_t offset = ns(real) - ns(monotonic);
  EXPECT_NEAR(static_cast<double>(trace.events[0].start_ns - offset - ns(before)), 0, 60e9);
  EXPECT_LE(trace.events[0].end_ns, trace.events[1].start_ns);
  EXPECT_LE(trace.events[1].end_ns - trace.events[0].start_ns, ns(after) - ns(before));
}

}  // namespace
}  // namespace ferret
