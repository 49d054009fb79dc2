// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ProcessStamp: what tells a process from every other one that has had, or will have, its pid.

#ifndef FERRET_RUNTIME_CRASH_PROCESS_STAMP_H_
#define FERRET_RUNTIME_CRASH_PROCESS_STAMP_H_

#include <cstdint>
#include <string>

namespace ferret::internal {

struct ProcessStamp {
  int32_t pid = 0;
  uint64_t start_time = 0;  // clock ticks since boot; 0 if /proc does not say
  std::string boot_id;      // empty if /proc does not say
};

ProcessStamp OwnProcessStamp();

// Whether this machine has not been started anew since. False for a process of another machine, too.
bool IsOfThisBoot(const ProcessStamp& stamp);

// Whether that very process runs, as far as its pid is one of this namespace. A zombie does not: it records no more.
bool IsProcessRunning(const ProcessStamp& stamp);

// Whether it also has that file, its crash file, mapped for writing: after exec another program runs in the process, and nobody writes
// to the file any more. True where nobody may know.
bool IsWriterRunning(const ProcessStamp& stamp, const std::string& path);

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_PROCESS_STAMP_H_
