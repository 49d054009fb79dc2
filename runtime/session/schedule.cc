// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/schedule.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace ferret {
namespace {

using Unit = Schedule::Unit;

// Cycles are counted from here, in the time line that begins `Shift` before the schedule's first cycle would.
uint64_t Shift(const Schedule& schedule) { return schedule.skip_first_wait ? schedule.wait : 0; }
uint64_t Cycle(const Schedule& schedule) { return schedule.wait + schedule.warmup + schedule.active; }

// Whether all cycles are over at `place` in that time line.
bool IsOver(const Schedule& schedule, uint64_t place) {
  return schedule.repeat != 0 && place / Cycle(schedule) >= schedule.repeat;
}

// A numbered field of the schedule; null for the others.
uint64_t* FieldOf(Schedule* schedule, absl::string_view name) {
  if (name == "skip_first") return &schedule->skip_first;
  if (name == "wait") return &schedule->wait;
  if (name == "warmup") return &schedule->warmup;
  if (name == "active") return &schedule->active;
  return nullptr;
}

bool ParseNumber(absl::string_view text, uint64_t* number) {
  // SimpleAtoi alone would take a sign and spaces.
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number);
}

// A time of whole milliseconds, as 1.5s or 20ms.
bool ParseMilliseconds(absl::string_view text, uint64_t* number) {
  absl::Duration time;
  if (!absl::ParseDuration(text, &time)) return false;
  if (time < absl::ZeroDuration() || time == absl::InfiniteDuration()) return false;
  *number = static_cast<uint64_t>(absl::ToInt64Milliseconds(time));
  return absl::Milliseconds(*number) == time;
}

}  // namespace

ScheduleAction ActionAt(const Schedule& schedule, uint64_t at) {
  if (schedule.unit == Unit::kNone) return ScheduleAction::kRecord;
  if (at < schedule.skip_first) return ScheduleAction::kNone;
  const uint64_t place = at - schedule.skip_first + Shift(schedule);
  if (IsOver(schedule, place)) return ScheduleAction::kNone;
  const uint64_t in_cycle = place % Cycle(schedule);
  if (in_cycle < schedule.wait) return ScheduleAction::kNone;
  if (in_cycle < schedule.wait + schedule.warmup) return ScheduleAction::kWarmup;
  return in_cycle + 1 < Cycle(schedule) ? ScheduleAction::kRecord : ScheduleAction::kRecordAndSave;
}

bool RecordsAt(const Schedule& schedule, uint64_t at) { return ActionAt(schedule, at) >= ScheduleAction::kRecord; }

uint64_t NextSwitch(const Schedule& schedule, uint64_t at) {
  if (schedule.unit == Unit::kNone) return kNoSwitch;
  const uint64_t skip = schedule.skip_first;
  const uint64_t cycle = Cycle(schedule);
  const uint64_t off = schedule.wait + schedule.warmup;
  // What is before the first cycle is off; so is all after the last one.
  if (at < skip) return RecordsAt(schedule, skip) ? skip : NextSwitch(schedule, skip);
  const uint64_t place = at - skip + Shift(schedule);
  if (IsOver(schedule, place)) return kNoSwitch;
  uint64_t next;
  if (off == 0) {  // the cycles follow each other without a gap
    if (schedule.repeat == 0) return kNoSwitch;
    next = schedule.repeat * cycle;
  } else if (place % cycle < off) {
    next = place - place % cycle + off;
  } else {
    next = place - place % cycle + cycle;
  }
  return next - Shift(schedule) + skip;
}

absl::Status ValidateSchedule(const Schedule& schedule) {
  if (schedule.unit == Unit::kNone) return absl::OkStatus();
  if (schedule.active == 0) return absl::InvalidArgumentError("a schedule needs active=, of at least 1");
  for (const uint64_t number : {schedule.skip_first, schedule.wait, schedule.warmup, schedule.active}) {
    if (number > kMaxScheduleNumber) {
      return absl::InvalidArgumentError(absl::StrCat("a schedule's numbers are at most ", kMaxScheduleNumber));
    }
  }
  if (schedule.repeat > 1'000'000) return absl::InvalidArgumentError("a schedule's repeat is at most 1000000");
  return absl::OkStatus();
}

bool ParseSchedule(absl::string_view text, Schedule* schedule) {
  Schedule parsed;
  parsed.unit = absl::ConsumePrefix(&text, "time:") ? Unit::kMilliseconds : Unit::kSteps;
  const bool by_time = parsed.unit == Unit::kMilliseconds;
  std::set<absl::string_view> named;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!named.insert(field.first).second) return false;  // twice
    uint64_t flag = 0;
    if (uint64_t* const number = FieldOf(&parsed, field.first)) {
      if (!(by_time ? ParseMilliseconds(field.second, number) : ParseNumber(field.second, number))) return false;
    } else if (field.first == "repeat") {
      if (!ParseNumber(field.second, &parsed.repeat)) return false;
    } else if (field.first == "skip_first_wait") {
      if (!ParseNumber(field.second, &flag) || flag > 1) return false;
      parsed.skip_first_wait = flag == 1;
    } else {
      return false;
    }
  }
  *schedule = parsed;
  return true;
}

std::string PrintSchedule(const Schedule& schedule) {
  if (schedule.unit == Unit::kNone) return "";
  const bool by_time = schedule.unit == Unit::kMilliseconds;
  const auto print = [by_time](uint64_t number) {
    return by_time ? absl::FormatDuration(absl::Milliseconds(number)) : absl::StrCat(number);
  };
  return absl::StrCat(by_time ? "time:" : "", "skip_first=", print(schedule.skip_first),
                      ",skip_first_wait=", schedule.skip_first_wait ? 1 : 0, ",wait=", print(schedule.wait),
                      ",warmup=", print(schedule.warmup), ",active=", print(schedule.active),
                      ",repeat=", schedule.repeat);
}

}  // namespace ferret
