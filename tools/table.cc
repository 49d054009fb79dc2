// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/table.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/events/sort_key.h"
#include "runtime/trace_reader/trace_reader.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tools/table_arguments.h"
#include "tools/table_json.h"

namespace ferret {
namespace {

constexpr int kBadFile = 1;

// The rows that a table would show, in its order.
std::vector<FunctionEventAvg> ChosenRows(std::vector<FunctionEventAvg> rows, const TableRequest& request) {
  if (request.table.top_level_events_only) {
    rows.erase(std::remove_if(rows.begin(), rows.end(), [](const auto& row) { return row.cpu_parent != nullptr; }),
               rows.end());
  }
  if (const SortKey key = FindSortKey(request.table.sort_by); key != nullptr) {
    std::stable_sort(rows.begin(), rows.end(), [key](const auto& a, const auto& b) { return key(a) > key(b); });
  }
  const int64_t limit = request.row_limit.value_or(-1);
  if (limit >= 0 && rows.size() > static_cast<size_t>(limit)) {
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(limit), rows.end());
  }
  return rows;
}

}  // namespace

int Table(char** arguments) {
  const absl::StatusOr<TableRequest> request = ParseTableArguments(arguments);
  if (!request.ok()) {
    Say(std::string(request.status().message()));
    std::fputs(TableUsage().c_str(), stderr);
    return kOwnFailure;
  }
  if (request->help) {
    std::fputs(TableUsage().c_str(), stdout);
    return 0;
  }
  const absl::StatusOr<TraceContents> trace = ReadTrace(request->file);
  if (!trace.ok()) {
    Say(std::string(trace.status().message()));
    return kBadFile;
  }
  for (const std::string& warning : trace->warnings) Say(warning);
  if (trace->kernels_alone > 0) {
    Say(absl::StrCat(request->file, ": of ", trace->kernels_alone + trace->kernels_linked,
                     " kernels, copies and sets ", trace->kernels_alone, " belong to no operator of the trace"));
  }

  EventAverages averages = trace->events.key_averages(request->averages);
  std::string text;
  if (request->json) {
    text = TableJson(ChosenRows(std::move(averages.rows), *request), request->averages);
  } else {
    TableOptions options = request->table;
    if (request->row_limit.has_value()) options.row_limit = *request->row_limit;
    std::string error;
    text = averages.table(options, &error);
    if (!error.empty()) {
      Say(error);
      return kOwnFailure;
    }
    if (text.empty()) Say(absl::StrCat(request->file, ": no events"));
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  return Print(text) ? 0 : kOwnFailure;
}

}  // namespace ferret
