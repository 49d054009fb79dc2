// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// With a crash file the memory that is recorded into waits for exporters. One that hangs must not stop recording.

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/session/session_kit.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

TEST(HangingExporter, TakesNothingFromTheOtherOneInACrashFile) {
  Options options = TestOptions(128);
  const TemporaryFolder folder;
  options.crash_dir = folder.path();
  options.overflow = Options::Overflow::kBlock;  // so that this test may be as fast as it likes
  options.block_limit = absl::Seconds(10);
  const auto latch = std::make_shared<Latch>();
  const auto entered = std::make_shared<Latch>();
  const auto collector = std::make_shared<MemoryCollector>();
  Exporters exporters;
  exporters.With("hangs", BlockingExporter(latch, entered)).Memory(collector);
  ASSERT_TRUE(StartSession(options, exporters.Take()).ok());
  { FERRET_SCOPE("first"); }
  entered->Wait();
  // So that it is given up as soon as the buffer runs low, and the whole block limit is there for a busy machine to do it.
  absl::SleepFor(absl::Seconds(6));
  // Twice what the buffer holds, 8 MiB: a scope takes 32 bytes or more.
  constexpr uint64_t kScopes = 500'000;
  for (uint64_t i = 0; i < kScopes; ++i) { FERRET_SCOPE("scope"); }
  latch->Open();
  ASSERT_TRUE(Stop60().ok());
  EXPECT_EQ(Losses().total(), 0u);
  const CollectedTrace trace = collector->Take();
  EXPECT_EQ(trace.events.size(), kScopes + 1);
  EXPECT_TRUE(trace.complete());
}

}  // namespace
}  // namespace ferret
