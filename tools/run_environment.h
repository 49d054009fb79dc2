// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The environment that `ferret run` gives to its command.

#ifndef FERRET_TOOLS_RUN_ENVIRONMENT_H_
#define FERRET_TOOLS_RUN_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferret {

// A copy of an environment that can be changed: "NAME=value" strings, each name once.
class EnvironmentCopy {
 public:
  explicit EnvironmentCopy(const char* const* environment);

  // Null if the variable is not set. Good until the next Set.
  const char* Get(absl::string_view name) const;
  void Set(absl::string_view name, absl::string_view value);

  // As execve takes it, ending with null. Good until the next Set.
  std::vector<char*> Pointers();

 private:
  std::vector<std::string> entries_;
};

// LD_PRELOAD with the library added to what it holds. Last, since what is there may have to be first (a sanitizer's
// runtime). Fails for a path that LD_PRELOAD cannot express.
absl::StatusOr<std::string> AddPreload(absl::string_view current, const std::string& library);

// libferret_preload.so of the build or the installation that the executable belongs to; empty if it is not there.
std::string FindPreloadLibrary();

// A text that no other run has.
std::string FreshRunId();

}  // namespace ferret

#endif  // FERRET_TOOLS_RUN_ENVIRONMENT_H_
