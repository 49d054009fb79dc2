// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "runtime/export/file/output_path.h"

namespace ferret {

absl::StatusOr<ChromeTraceOptions> ParseChromeTraceOptions(const ExporterSpec& spec) {
  absl::Status allowed = CheckParameters(spec, {"level", "split"});
  if (!allowed.ok()) return allowed;
  ChromeTraceOptions options;
  if (!spec.target.empty()) options.target = spec.target;
  absl::Status pattern = CheckPathPattern(options.target);
  if (!pattern.ok()) return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", pattern.message()));
  const absl::StatusOr<int64_t> level = IntParameter(spec, "level", options.gzip_level, 1, 9);
  if (!level.ok()) return level.status();
  options.gzip_level = static_cast<int>(*level);
  const absl::StatusOr<uint64_t> split = SplitParameter(spec, "split");
  if (!split.ok()) return split.status();
  options.max_part_bytes = *split;
  return options;
}

}  // namespace ferret
