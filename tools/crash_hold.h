// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Who may recover a crash file, and when: nobody while its process writes it, one at a time, and the outputs that it names
// only the user whose file it is.

#ifndef FERRET_TOOLS_CRASH_HOLD_H_
#define FERRET_TOOLS_CRASH_HOLD_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/crash/process_stamp.h"
#include "tools/crash_files.h"

namespace ferret {

enum class CrashHold {
  kOurs,            // nobody else has it, for as long as `file` lives
  kStillRecording,  // its process runs
  kElsewhere,       // a process in another container or on another host writes it, or somebody recovers it
  kRecovered,       // it was removed before it was ours
};

// The writer has a lock on the file for as long as it lives (crash_file.h), wherever that is: pids do not tell in another
// container. Where the file system has no locks they have to do.
CrashHold HoldCrashFile(const MappedFile& file, const internal::ProcessStamp& stamp, const std::string& path);

bool IsOfAnotherUser(const std::string& path);
// A crash file says in which folder which outputs are to be written: that must not be another user's word.
absl::Status CheckIsOwn(const MappedFile& file);
// The same of an output that is to be gone on with. OK if there is none.
absl::Status CheckIsOwn(const std::string& output);

}  // namespace ferret

#endif  // FERRET_TOOLS_CRASH_HOLD_H_
