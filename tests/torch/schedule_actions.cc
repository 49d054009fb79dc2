// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints what schedules do: for each line `STEPS SCHEDULE` of standard input one line with a digit for each step from
// 0, ScheduleAction's.

#include <iostream>
#include <string>

#include "runtime/session/schedule.h"

int main() {
  std::ios::sync_with_stdio(false);
  uint64_t steps;
  std::string text, line;
  while (std::cin >> steps >> text) {
    ferret::Schedule schedule;
    if (!ferret::ParseSchedule(text, &schedule) || !ferret::ValidateSchedule(schedule).ok()) return 1;
    line.clear();
    for (uint64_t step = 0; step < steps; ++step) {
      line += static_cast<char>('0' + static_cast<int>(ferret::ActionAt(schedule, step)));
    }
    std::cout << line << '\n';
  }
  return 0;
}
