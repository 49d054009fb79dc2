// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A recorder that runs and runs: memory is that of the ring, however much has gone through it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "runtime/session/flight_options.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

size_t ResidentBytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(FlightMemory, IsFlatHoweverManyEventsGoThroughIt) {
  const char* const asked = getenv("FERRET_TEST_EVENTS");
  const uint64_t events = asked == nullptr ? 1'000'000 : std::strtoull(asked, nullptr, 10);
  Options options = TestOptions(64);
  options.overflow = Options::Overflow::kBlock;
  options.block_limit = absl::Seconds(10);
  ASSERT_TRUE(ParseFlight("size=16M", &options.flight));
  const auto make = []() -> absl::StatusOr<std::vector<NamedExporter>> {
    return Exporters().With("none", std::make_unique<FunctionExporter>([] { return absl::OkStatus(); })).Take();
  };
  auto started = SessionRun::Start(options, *make(), make);
  ASSERT_TRUE(started.ok()) << started.status();
  const std::unique_ptr<SessionRun> run = *std::move(started);
  // The ring is full after some 130,000 of them.
  const uint64_t warm = 1'000'000;
  for (uint64_t i = 0; i < warm; ++i) { FERRET_SCOPE("work"); }
  ASSERT_TRUE(run->Flush(absl::Now() + absl::Seconds(60)).ok());
  const size_t before = ResidentBytes();
  for (uint64_t i = warm; i < events; ++i) {
    FERRET_SCOPE("work");
    if (i % (events / 4) == 0) {
      EXPECT_TRUE(run->Dump().ok());  // whose memory is given back
    }
  }
  ASSERT_TRUE(run->Flush(absl::Now() + absl::Seconds(60)).ok());
  const size_t after = ResidentBytes();
  std::printf("%zu KiB after %llu events, %zu KiB after %llu\n", before >> 10, static_cast<unsigned long long>(warm),
              after >> 10, static_cast<unsigned long long>(events));
  // A dump's memory goes back to the ring's pool, and to an allocator that may keep some.
  EXPECT_LT(after, before + (size_t{24} << 20));
  EXPECT_TRUE(run->Stop(absl::Now() + absl::Seconds(60)).ok());
  const ExporterCounts counts = run->Outputs()[0].counts;
  EXPECT_EQ(counts.exported + counts.discarded + run->Losses().total(), events);
  EXPECT_EQ(run->Losses().total(), 0u);
}

}  // namespace
}  // namespace ferret
