// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// When to record: torch.profiler's schedule, over training steps or over time.
//
//     ferret::Schedule schedule;                    // wait 5 steps, warm up for 1, record 3; twice
//     schedule.unit = ferret::Schedule::Unit::kSteps;
//     schedule.wait = 5;
//     schedule.warmup = 1;
//     schedule.active = 3;
//     schedule.repeat = 2;
//     ferret::Start("chrome_trace:trace.json", schedule);
//
// Steps end where the program calls ferret::Step, or else where an optimizer's step ends (with the PyTorch adapter).
// Outside of the active steps recording is off: a scope costs a load and a branch, and PyTorch's operators run without
// a callback. Nothing of that time counts as lost. A warm-up is time in which nothing is recorded either: torch.profiler
// throws away what it sees then, and Ferret has nothing to warm up. What is open when recording goes off ends there.

#ifndef FERRET_SCHEDULE_H_
#define FERRET_SCHEDULE_H_

#include <cstdint>

namespace ferret {

struct Schedule {
  enum class Unit : uint8_t {
    kNone,          // no schedule: everything is recorded
    kSteps,         // numbers are training steps
    kMilliseconds,  // numbers are times: for a program without steps
  };
  Unit unit = Unit::kNone;
  uint64_t skip_first = 0;       // before the first cycle
  bool skip_first_wait = false;  // the first cycle has no wait
  // A cycle.
  uint64_t wait = 0;
  uint64_t warmup = 0;
  uint64_t active = 0;  // at least 1
  uint64_t repeat = 0;  // so many cycles; 0 goes on for ever
};

}  // namespace ferret

#endif  // FERRET_SCHEDULE_H_
