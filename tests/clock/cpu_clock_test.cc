// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/clock/cpu_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <string>

namespace ferret {
namespace {

using ::testing::HasSubstr;

TEST(CpuClock, TheCycleCounterIsTakenWhereProcessorAndKernelTrustIt) {
  struct Case {
    bool invariant;
    const char* source;
    bool fit;
    const char* reason;
  };
  const Case cases[] = {
      {true, "tsc", true, ""},
      {true, "kvm-clock", true, ""},
      {true, "hyperv_clocksource_tsc_page", true, ""},
      {true, "xen", true, ""},
      {true, "arch_sys_counter", true, ""},
      {true, "hpet", false, "'hpet'"},
      {true, "acpi_pm", false, "'acpi_pm'"},
      {true, "jiffies", false, "'jiffies'"},
      {true, "", false, "''"},
      {true, "tsc-early", false, "'tsc-early'"},
      {true, "TSC", false, "'TSC'"},
      {false, "tsc", false, "constant rate"},
      {false, "kvm-clock", false, "constant rate"},
      {false, "hpet", false, "constant rate"},
  };
  for (const Case& c : cases) {
    const CycleCounterFitness fitness = JudgeCycleCounter(c.invariant, c.source);
    EXPECT_EQ(fitness.fit, c.fit) << c.invariant << " " << c.source;
    EXPECT_THAT(fitness.reason, HasSubstr(c.reason));
    EXPECT_EQ(fitness.reason.empty(), c.fit) << "a reason exactly when it is not fit";
    EXPECT_EQ(fitness.reason.find('\n'), std::string::npos);
  }
}

TEST(CpuClock, ThisMachineIsJudgedAlikeEachTime) {
  const CycleCounterFitness first = CheckCycleCounter();
  EXPECT_EQ(CheckCycleCounter().fit, first.fit);
  EXPECT_EQ(first.reason.empty(), first.fit);
}

TEST(CpuClock, BothStampingClocksGoForward) {
  for (const bool cycle_counter : {false, true}) {
    uint64_t last = ReadTicks(cycle_counter);
    for (int i = 0; i < 1000; ++i) {
      const uint64_t now = ReadTicks(cycle_counter);
      EXPECT_GE(now, last);
      last = now;
    }
  }
}

TEST(CpuClock, TheWallOffsetTurnsMonotonicIntoUnixTime) {
  timespec before, after;
  clock_gettime(CLOCK_REALTIME, &before);
  const int64_t unix_ns = WallOffsetNs() + MonotonicNs();
  clock_gettime(CLOCK_REALTIME, &after);
  const auto ns = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  // A wall clock that is being slewed right now may be off by a little.
  EXPECT_GE(unix_ns, ns(before) - 1'000'000);
  EXPECT_LE(unix_ns, ns(after) + 1'000'000);
}

TEST(CpuClock, AnAnchorOfTheMonotonicClockIsExact) {
  const Anchor anchor = ReadAnchor(false, 1234, 1);
  EXPECT_EQ(static_cast<int64_t>(anchor.source) + 1234, anchor.target_ns);
  EXPECT_EQ(anchor.error_ns, 0);
}

TEST(CpuClock, AnAnchorOfTheCycleCounterLiesBetweenReadingsAroundIt) {
  const uint64_t ticks_before = ReadTicks(true);
  const int64_t ns_before = MonotonicNs();
  const Anchor anchor = ReadAnchor(true, 500, 16);
  EXPECT_GE(anchor.source, ticks_before);
  EXPECT_LE(anchor.source, ReadTicks(true));
  EXPECT_GE(anchor.target_ns, ns_before + 500);
  EXPECT_LE(anchor.target_ns, MonotonicNs() + 500);
  EXPECT_GT(anchor.error_ns, 0);
}

TEST(CpuClock, TheFirstMapIsRightFromTheStart) {
  const ClockMap monotonic = StartClockMap(false, 77);
  EXPECT_EQ(monotonic.ns_per_tick(), 1.0);
  EXPECT_EQ(monotonic.ToNs(1'000'000), 1'000'077);

  const ClockMap cycles = StartClockMap(true, 77);
  const int64_t before = MonotonicNs() + 77;
  const int64_t now = cycles.ToNs(ReadTicks(true));
  const int64_t after = MonotonicNs() + 77;
  // Half a millisecond's measurement of the rate, used within a moment of it.
  EXPECT_GE(now, before - 100'000);
  EXPECT_LE(now, after + 100'000);
}

}  // namespace
}  // namespace ferret
