// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Finishes what a killed process was writing: its file is a complete document at any time, but still has the temporary
// name (see runtime/export/file/file_claim.h).

#ifndef FERRET_TOOLS_RESCUE_H_
#define FERRET_TOOLS_RESCUE_H_

#include <cstdint>
#include <string>

#include "runtime/session/run_report.h"

namespace ferret {

struct Rescue {
  enum class Outcome {
    kNothingToDo,   // its process has finished it, or had nothing to write
    kStillWritten,  // its process lives
    kRescued,
    kFailed,
  };
  Outcome outcome = Outcome::kNothingToDo;
  std::string path;   // kRescued: where the file is now
  std::string error;  // kFailed: why
};

// Renames the file as its process would have done: over a file of an earlier run, beside one of this run.
Rescue RescueFile(const RunReport::Opened& output, const std::string& run_id);

// False for a process that is gone or only waits for its parent to ask how it ended.
bool IsProcessAlive(int32_t pid);

}  // namespace ferret

#endif  // FERRET_TOOLS_RESCUE_H_
