// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of averages as the text table that torch.profiler prints: same columns, widths and figures, with each value
// under its own header whatever columns there are.

#ifndef FERRET_RUNTIME_EVENTS_TABLE_H_
#define FERRET_RUNTIME_EVENTS_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ferret/function_event_avg.h"

namespace ferret {

// A column of the caller's, right of the number of calls.
struct ExtraColumn {
  std::string header;
  std::function<std::string(size_t row)> text;  // of a row by its index
};

struct TableSource {
  size_t count = 0;
  // Called several times for each row. The reference is used until the next call.
  std::function<const FunctionEventAvg&(size_t row)> row;
  bool profile_memory = false;
  bool with_flops = false;
  std::vector<ExtraColumn> extra;
};

// "" for no rows, and on a bad option: then *error (may be null) says which.
std::string PrintTable(const TableSource& source, const TableOptions& options, std::string* error);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TABLE_H_
