// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What FERRET_EXPORT=table:... says.

#ifndef FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_OPTIONS_H_
#define FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ferret/function_event_avg.h"
#include "runtime/export/export_spec.h"

namespace ferret {

struct TableExporterOptions {
  static constexpr char kStderr[] = "stderr";
  enum class Format : uint8_t { kText, kJson };

  std::string target = kStderr;  // or a path with patterns
  Format format = Format::kText;
  AverageOptions group;
  std::string sort_by = "self_cpu_time_total";
  int64_t row_limit = 100;  // -1: all
  size_t max_keys = 4096;
  // Print also in between, this often; zero: only at the end. A file is kept up to date in any case.
  absl::Duration every = absl::ZeroDuration();
};

absl::StatusOr<TableExporterOptions> ParseTableExporterOptions(const ExporterSpec& spec);

}  // namespace ferret

#endif  // FERRET_EXPORTERS_TABLE_TABLE_EXPORTER_OPTIONS_H_
