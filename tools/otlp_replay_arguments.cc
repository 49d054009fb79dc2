// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/otlp_replay_arguments.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferret {

absl::StatusOr<OtlpReplayRequest> ParseOtlpReplayArguments(char** arguments) {
  OtlpReplayRequest request;
  bool only_files = false;
  for (; *arguments != nullptr; ++arguments) {
    const std::string_view argument = *arguments;
    if (only_files || argument.size() < 2 || argument[0] != '-') {
      request.files.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      only_files = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      request.help = true;
      return request;
    }
    if (argument == "--remove") {
      request.remove = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    std::string* const value =
        name == "--endpoint" ? &request.endpoint : name == "--protocol" ? &request.protocol : nullptr;
    if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("unknown option ", *arguments));
    if (equals != argument.npos) {
      *value = argument.substr(equals + 1);
    } else if (*++arguments == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    } else {
      *value = *arguments;
    }
    if (value->empty()) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
  }
  const std::string& protocol = request.protocol;
  if (!protocol.empty() && protocol != "http/protobuf" && protocol != "http/json" && protocol != "grpc") {
    return absl::InvalidArgumentError(
        absl::StrCat("--protocol: \"", protocol, "\" is not one of: http/protobuf, http/json, grpc"));
  }
  if (request.files.empty()) return absl::InvalidArgumentError("no file");
  return request;
}

}  // namespace ferret
