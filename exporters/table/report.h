// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An aggregate as text: torch.profiler's table with percentiles, or JSON with everything in it.

#ifndef FERRET_EXPORTERS_TABLE_REPORT_H_
#define FERRET_EXPORTERS_TABLE_REPORT_H_

#include <string>

#include "exporters/table/aggregate.h"
#include "exporters/table/table_exporter_options.h"
#include "runtime/export/exporter.h"

namespace ferret::table {

struct ReportSource {
  const Aggregate* aggregate = nullptr;
  const SessionInfo* session = nullptr;
  const ExportProgress* progress = nullptr;
  const TableExporterOptions* options = nullptr;
  int64_t end_ns = 0;        // of the latest event, Unix ns
  std::string run_id;        // "" leaves it out: only a file says which process wrote it
};

// Ends with a newline.
std::string TextReport(const ReportSource& source);

// One line: an object with "rows", whose figures are integer nanoseconds and bytes. Percentiles of several processes
// come from adding up their "histogram"s, pairs of the least duration in a bucket and its count.
std::string JsonReport(const ReportSource& source);

}  // namespace ferret::table

#endif  // FERRET_EXPORTERS_TABLE_REPORT_H_
