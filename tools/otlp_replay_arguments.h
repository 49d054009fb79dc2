// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of `ferret otlp-replay`.

#ifndef FERRET_TOOLS_OTLP_REPLAY_ARGUMENTS_H_
#define FERRET_TOOLS_OTLP_REPLAY_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferret {

struct OtlpReplayRequest {
  std::vector<std::string> files;
  std::string endpoint;
  std::string protocol;
  bool remove = false;
  bool help = false;
};

// `arguments` ends with null. Options stand anywhere, with their value behind "=" or as next argument.
absl::StatusOr<OtlpReplayRequest> ParseOtlpReplayArguments(char** arguments);

}  // namespace ferret

#endif  // FERRET_TOOLS_OTLP_REPLAY_ARGUMENTS_H_
