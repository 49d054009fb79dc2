// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferret {
namespace {

Schedule Parsed(const std::string& text) {
  Schedule schedule;
  EXPECT_TRUE(ParseSchedule(text, &schedule)) << text;
  EXPECT_TRUE(ValidateSchedule(schedule).ok()) << text;
  return schedule;
}

// One letter for each step: none, warm-up, record, record and save.
std::string Letters(const std::string& text, uint64_t steps) {
  const Schedule schedule = Parsed(text);
  std::string letters;
  for (uint64_t step = 0; step < steps; ++step) letters += ".wrS"[static_cast<int>(ActionAt(schedule, step))];
  return letters;
}

TEST(Schedule, RunsThroughItsCycles) {
  EXPECT_EQ(Letters("wait=2,warmup=1,active=3", 15), "..wrrS..wrrS..w");
  EXPECT_EQ(Letters("wait=2,warmup=1,active=1,repeat=2", 12), "..wS..wS....");
  EXPECT_EQ(Letters("active=2", 5), "rSrSr");
  EXPECT_EQ(Letters("skip_first=3,wait=1,active=1,repeat=1", 8), "....S...");
}

TEST(Schedule, LeavesTheFirstWaitOutIfAsked) {
  EXPECT_EQ(Letters("wait=3,warmup=1,active=1,skip_first_wait=1", 12), "wS...wS...wS");
  // As in PyTorch: the repeats are counted as if the wait had been.
  EXPECT_EQ(Letters("skip_first=2,wait=3,active=1,repeat=1,skip_first_wait=1", 8), "..S.....");
}

TEST(Schedule, WithoutOneEverythingIsRecorded) {
  EXPECT_TRUE(RecordsAt(Schedule(), 0));
  EXPECT_EQ(NextSwitch(Schedule(), 0), kNoSwitch);
  EXPECT_EQ(PrintSchedule(Schedule()), "");
}

TEST(Schedule, NextSwitchIsTheNextStepThatDiffers) {
  constexpr uint64_t kSteps = 60;
  int switches = 0;
  for (uint64_t code = 0; code < 4 * 3 * 3 * 3 * 3 * 2; ++code) {
    uint64_t rest = code;
    const auto digit = [&rest](uint64_t base) {
      const uint64_t value = rest % base;
      rest /= base;
      return value;
    };
    Schedule schedule;
    schedule.unit = Schedule::Unit::kSteps;
    schedule.skip_first = digit(4);
    schedule.wait = digit(3);
    schedule.warmup = digit(3);
    schedule.active = 1 + digit(3);
    schedule.repeat = digit(3);
    schedule.skip_first_wait = digit(2) == 1;
    for (uint64_t at = 0; at < kSteps / 2; ++at) {
      uint64_t next = at + 1;
      while (next < kSteps && RecordsAt(schedule, next) == RecordsAt(schedule, at)) ++next;
      ASSERT_EQ(NextSwitch(schedule, at), next == kSteps ? kNoSwitch : next) << PrintSchedule(schedule) << " at " << at;
      switches += next < kSteps;
    }
  }
  EXPECT_GT(switches, 1000);
}

TEST(Schedule, TextReadsBackAsItself) {
  EXPECT_EQ(PrintSchedule(Parsed("wait=5,warmup=1,active=3,repeat=2,skip_first=10,skip_first_wait=1")),
            "skip_first=10,skip_first_wait=1,wait=5,warmup=1,active=3,repeat=2");
  EXPECT_EQ(PrintSchedule(Parsed("time:wait=60s,active=1.5s")),
            "time:skip_first=0,skip_first_wait=0,wait=1m,warmup=0,active=1.5s,repeat=0");
  for (const char* text : {"active=1", "time:active=20ms,wait=1h", "active=1000000000000,repeat=1000000"}) {
    const std::string printed = PrintSchedule(Parsed(text));
    EXPECT_EQ(PrintSchedule(Parsed(printed)), printed);
  }
}

TEST(Schedule, TextOfAnotherFormIsRefused) {
  for (const char* text :
       {"", "active", "active=", "active=-1", "active=+1", "active= 1", "active=1.5", "active=1s", "active=1,",
        ",active=1",
        "Active=1", "active=1;wait=2", "skip_first_wait=2,active=1", "time:active=5", "time:active=-5s",
        "time:active=inf",
        "time:active=1us", "time:active=1s,repeat=1s", "time:time:active=1s", "active=99999999999999999999",
        "steps=3", "active=1,active=2", "active=1,repeat=1,repeat=1"}) {
    Schedule schedule;
    schedule.wait = 77;
    EXPECT_FALSE(ParseSchedule(text, &schedule)) << text;
    EXPECT_EQ(schedule.wait, 77u) << text;
  }
}

TEST(Schedule, OneThatNeverRecordsOrOverflowsIsInvalid) {
  for (const char* text : {"wait=1", "active=0", "time:wait=1s", "active=1000000000001", "active=1,wait=1000000000001",
                           "active=1,repeat=1000001"}) {
    Schedule schedule;
    ASSERT_TRUE(ParseSchedule(text, &schedule)) << text;
    EXPECT_FALSE(ValidateSchedule(schedule).ok()) << text;
  }
}

}  // namespace
}  // namespace ferret
