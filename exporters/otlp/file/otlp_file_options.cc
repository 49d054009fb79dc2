// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include "exporters/otlp/file/otlp_file_exporter.h"
#include "runtime/export/file/output_path.h"

namespace ferret {

absl::StatusOr<OtlpFileOptions> ParseOtlpFileOptions(const ExporterSpec& spec) {
  absl::Status allowed = CheckParameters(spec, {"level", "metrics", "size"});
  if (!allowed.ok()) return allowed;
  OtlpFileOptions options;
  if (!spec.target.empty()) options.target = spec.target;
  absl::Status pattern = CheckPathPattern(options.target);
  if (!pattern.ok()) return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", pattern.message()));
  const absl::StatusOr<int64_t> level = IntParameter(spec, "level", options.gzip_level, 1, 9);
  if (!level.ok()) return level.status();
  options.gzip_level = static_cast<int>(*level);
  const absl::StatusOr<uint64_t> size = SplitParameter(spec, "size");
  if (!size.ok()) return size.status();
  options.max_part_bytes = *size;
  if (const std::string* metrics = FindParameter(spec, "metrics")) {
    if (*metrics != "on" && *metrics != "off") {
      return absl::InvalidArgumentError(absl::StrCat(spec.name, ": metrics=\"", ShownText(*metrics), "\" is neither on nor off"));
    }
    options.metrics = *metrics == "on";
  }
  return options;
}

}  // namespace ferret
