// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "runtime/export/file/output_path.h"

namespace ferret {
namespace {

// A part smaller than a few pieces would consist of frames.
constexpr uint64_t kSmallestPart = 1000 * 1000;

// "300MB", "1.5GB" is not allowed: whole numbers only. 0 if the text is no size.
uint64_t ParseSize(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789");
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return 0;
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  uint64_t factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "kB" || unit == "KB") factor = 1000;
  if (unit == "MB") factor = 1000 * 1000;
  if (unit == "GB") factor = 1000 * 1000 * 1000;
  if (unit == "KiB") factor = uint64_t{1} << 10;
  if (unit == "MiB") factor = uint64_t{1} << 20;
  if (unit == "GiB") factor = uint64_t{1} << 30;
  if (factor == 0 || number > std::numeric_limits<uint64_t>::max() / factor) return 0;
  return number * factor;
}

}  // namespace

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
  const std::string* split = FindParameter(spec, "split");
  if (split != nullptr && *split != "0") {
    options.max_part_bytes = ParseSize(*split);
    if (options.max_part_bytes < kSmallestPart) {
      return absl::InvalidArgumentError(
          absl::StrCat(spec.name, ": split=", *split,
                       " is not a size from 1MB on; allowed are whole numbers with kB, MB, GB, KiB, MiB, GiB or no "
                       "unit, and 0 for one file"));
    }
  }
  return options;
}

}  // namespace ferret
