// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages as JSON, for programs.

#ifndef FERRET_TOOLS_TABLE_JSON_H_
#define FERRET_TOOLS_TABLE_JSON_H_

#include <string>
#include <vector>

#include "ferret/function_event_avg.h"

namespace ferret {

// An object with the rows, one a line, all figures integers: nanoseconds and bytes.
std::string TableJson(const std::vector<FunctionEventAvg>& rows, const AverageOptions& groups);

}  // namespace ferret

#endif  // FERRET_TOOLS_TABLE_JSON_H_
