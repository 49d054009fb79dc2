// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An exporter that hangs keeps nobody: neither the other exporters, nor who stops the session, nor the next session.

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

// What a loaded machine may add to any deadline.
constexpr absl::Duration kSlack = absl::Seconds(20);
// In which an exporter that does not hang takes a thousand events, on a machine that may stand still for a second.
constexpr absl::Duration kEnoughForTheOther = absl::Seconds(5);

class SessionDeadline : public testing::Test {
 protected:
  ~SessionDeadline() override { latch_->Open(); }

  // Starts a session with an exporter that blocks, and gets it to block.
  void StartBlocked(const Options& options = TestOptions()) {
    auto entered = std::make_shared<Latch>();
    Exporters exporters;
    exporters.With("blocks", BlockingExporter(latch_, entered)).Memory(collector_);
    ASSERT_TRUE(StartSession(options, exporters.Take()).ok());
    { FERRET_SCOPE("first"); }
    entered->Wait();
  }

  const std::shared_ptr<Latch> latch_ = std::make_shared<Latch>();
  const std::shared_ptr<MemoryCollector> collector_ = std::make_shared<MemoryCollector>();
};

TEST_F(SessionDeadline, OfStopHoldsThoughAnExporterHangs) {
  StartBlocked();
  for (int i = 0; i < 1000; ++i) { FERRET_SCOPE("scope"); }
  const absl::Time start = absl::Now();
  const absl::Status status = StopSession(kEnoughForTheOther);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_LT(absl::Now() - start, kEnoughForTheOther + kSlack);
  EXPECT_FALSE(IsRecording());
  // The other one has it all, complete.
  const CollectedTrace trace = collector_->Take();
  EXPECT_EQ(trace.events.size(), 1001u);
  EXPECT_TRUE(trace.complete());
  EXPECT_EQ(Losses().total(), 0u);
}

TEST_F(SessionDeadline, OfFlushHoldsThoughAnExporterHangs) {
  StartBlocked();
  { FERRET_SCOPE("scope"); }
  const absl::Time start = absl::Now();
  EXPECT_NE(Flush(50), "");
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(50) + kSlack);
  // Whoever can be flushed is, be it after the deadline.
  while (collector_->size() < 2) std::this_thread::yield();
  StopSession(absl::Milliseconds(100)).IgnoreError();
}

TEST_F(SessionDeadline, OfStopHoldsThoughAnotherThreadIsInAFlushWithALongerOne) {
  StartBlocked();
  { FERRET_SCOPE("scope"); }
  std::thread flusher([] { EXPECT_NE(Flush(60'000), ""); });
  // The flush has begun when its batch has arrived elsewhere.
  while (collector_->size() < 2) std::this_thread::yield();
  const absl::Time start = absl::Now();
  EXPECT_NE(Stop(200), "");
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(200) + kSlack);
  EXPECT_FALSE(IsRecording());
  flusher.join();
}

TEST_F(SessionDeadline, LeavesTheNextSessionAlone) {
  StartBlocked();
  EXPECT_FALSE(StopSession(absl::Milliseconds(50)).ok());
  auto next = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(next).Take()).ok());
  { FERRET_SCOPE("scope"); }
  latch_->Open();
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(next->Take().events.size(), 1u);
  EXPECT_EQ(Losses().total(), 0u);
}

// With no time at all the drain is left behind in the middle of its work. It goes on with its own chunks.
TEST_F(SessionDeadline, ThatLeavesTheDrainBehindDoesNotMixItsRecordsIntoTheNextSession) {
  const Options options = TestOptions(64);
  for (int round = 0; round < 20; ++round) {
    auto left = std::make_shared<MemoryCollector>();
    ASSERT_TRUE(StartSession(options, Exporters().Memory(left).Take()).ok());
    for (int i = 0; i < 20'000; ++i) { FERRET_SCOPE("of the first"); }
    StopSession(absl::ZeroDuration()).IgnoreError();

    auto next = std::make_shared<MemoryCollector>();
    ASSERT_TRUE(StartSession(options, Exporters().Memory(next).Take()).ok());
    for (int i = 0; i < 1000; ++i) { FERRET_SCOPE("of the second"); }
    ASSERT_TRUE(Stop60().ok());
    const CollectedTrace trace = next->Take();
    ASSERT_EQ(trace.events.size(), 1000u);
    for (const FunctionEvent& event : trace.events) ASSERT_EQ(event.name, "of the second");
  }
}

}  // namespace
}  // namespace ferret
