// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a Schedule means at a step (or at a moment), and its form as text. Pure functions; window_switch.h acts on them.

#ifndef FERRET_RUNTIME_SESSION_SCHEDULE_H_
#define FERRET_RUNTIME_SESSION_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ferret/schedule.h"

namespace ferret {

// torch.profiler.ProfilerAction, same names and order.
enum class ScheduleAction : uint8_t { kNone, kWarmup, kRecord, kRecordAndSave };

inline constexpr uint64_t kMaxScheduleNumber = 1'000'000'000'000;  // sums of a few never overflow
inline constexpr uint64_t kNoSwitch = ~uint64_t{0};

// What is done in step `at`, or in the millisecond `at`, from 0. The schedule is valid.
ScheduleAction ActionAt(const Schedule& schedule, uint64_t at);
bool RecordsAt(const Schedule& schedule, uint64_t at);
// The first one after `at` for which RecordsAt differs from that of `at`; kNoSwitch if there is none.
uint64_t NextSwitch(const Schedule& schedule, uint64_t at);

absl::Status ValidateSchedule(const Schedule& schedule);

// "wait=5,warmup=1,active=3,repeat=2" or "time:wait=60s,active=5s"; what is not named is 0. False if it is of neither
// form. Prints back what it parsed; a schedule that is none is the empty text.
inline constexpr char kScheduleForm[] =
    "wait=N,warmup=N,active=N[,repeat=N][,skip_first=N][,skip_first_wait=1] in steps, "
    "or time:wait=60s,active=5s and so on in times";
bool ParseSchedule(absl::string_view text, Schedule* schedule);
std::string PrintSchedule(const Schedule& schedule);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_SCHEDULE_H_
