// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of `ferret table`.

#ifndef FERRET_TOOLS_TABLE_ARGUMENTS_H_
#define FERRET_TOOLS_TABLE_ARGUMENTS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ferret/function_event_avg.h"

namespace ferret {

struct TableRequest {
  std::string file;
  bool help = false;
  bool json = false;
  AverageOptions averages;
  TableOptions table;
  std::optional<int64_t> row_limit;  // nullopt: what the form of output has by itself
};

// `arguments` ends with null. Options stand before or after the file, with their value behind "=" or as next argument.
absl::StatusOr<TableRequest> ParseTableArguments(char** arguments);

std::string TableUsage();

}  // namespace ferret

#endif  // FERRET_TOOLS_TABLE_ARGUMENTS_H_
