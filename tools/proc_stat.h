// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What /proc says of a process or a thread.

#ifndef FERRET_TOOLS_PROC_STAT_H_
#define FERRET_TOOLS_PROC_STAT_H_

#include <string>

namespace ferret {

struct ProcStat {
  bool known = false;  // false: there is none
  std::string name;
  char state = '?';
  // Killed, and its parent may not have noticed yet.
  bool is_dead() const { return state == 'Z' || state == 'X'; }
};

// `folder` is /proc/PID or /proc/PID/task/TID.
ProcStat ReadProcStat(const std::string& folder);

}  // namespace ferret

#endif  // FERRET_TOOLS_PROC_STAT_H_
