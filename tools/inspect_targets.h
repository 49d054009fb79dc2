// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which crash files `ferret inspect` is to read.
//
// The file of a process that lives is the one that it has mapped, wherever that lies and whether it still has a name. A
// process that is gone has left one with its pid in the name.

#ifndef FERRET_TOOLS_INSPECT_TARGETS_H_
#define FERRET_TOOLS_INSPECT_TARGETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferret {

struct InspectTarget {
  std::string file;       // as people know it
  std::string open_path;  // where it can be opened
  int32_t pid = 0;        // of the process that has it mapped; 0: what the file says
};

// `folders`: where files of processes that are gone may lie. Not empty. An error says what to do about it.
absl::StatusOr<std::vector<InspectTarget>> TargetsOfPid(int32_t pid, const std::vector<std::string>& folders);
// A file, or all crash files in a folder.
absl::StatusOr<std::vector<InspectTarget>> TargetsAt(const std::string& path);
// Of every process that lives and may be looked into.
std::vector<InspectTarget> AllTargets();
// Whether its process does not record into it any more: it may have ended since the file was found.
bool HasGone(const InspectTarget& target);

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_TARGETS_H_
