// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of `ferret inspect`.

#ifndef FERRET_TOOLS_INSPECT_ARGUMENTS_H_
#define FERRET_TOOLS_INSPECT_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferret {

struct InspectRequest {
  std::vector<std::string> arguments;  // pids, files, folders
  std::vector<std::string> folders;    // of files whose process is gone
  uint32_t last = 5;
  bool all = false;
  bool all_threads = false;
  bool json = false;
  bool help = false;
};

// `arguments` ends with null.
absl::StatusOr<InspectRequest> ParseInspectArguments(char** arguments);

extern const char kInspectUsage[];

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_ARGUMENTS_H_
