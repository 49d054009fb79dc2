// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/table_exporter_options.h"

#include "absl/strings/str_cat.h"
#include "runtime/events/sort_key.h"
#include "runtime/export/file/output_path.h"

namespace ferret {
namespace {

absl::Status Bad(const ExporterSpec& spec, const char* key, const std::string& value, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", key, "=", ShownText(value), " is not ", allowed));
}

absl::Status ParseSwitch(const ExporterSpec& spec, const char* key, bool* on) {
  const absl::StatusOr<int64_t> value = IntParameter(spec, key, 0, 0, 1);
  if (value.ok()) *on = *value == 1;
  return value.status();
}

}  // namespace

absl::StatusOr<TableExporterOptions> ParseTableExporterOptions(const ExporterSpec& spec) {
  TableExporterOptions options;
  absl::Status status =
      CheckParameters(spec, {"every", "format", "group_by_input_shapes", "group_by_overload_name", "group_by_stack_n",
                             "max_keys", "row_limit", "sort_by"});
  if (!spec.target.empty()) options.target = spec.target;
  if (const absl::Status pattern = CheckPathPattern(options.target); !pattern.ok()) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", pattern.message())));
  }
  status.Update(ParseSwitch(spec, "group_by_input_shapes", &options.group.group_by_input_shapes));
  status.Update(ParseSwitch(spec, "group_by_overload_name", &options.group.group_by_overload_name));
  const absl::StatusOr<int64_t> frames = IntParameter(spec, "group_by_stack_n", 0, 0, 1000);
  const absl::StatusOr<int64_t> row_limit = IntParameter(spec, "row_limit", options.row_limit, -1, INT32_MAX);
  const absl::StatusOr<int64_t> max_keys =
      IntParameter(spec, "max_keys", static_cast<int64_t>(options.max_keys), 1, 1'000'000);
  for (const auto* number : {&frames, &row_limit, &max_keys}) status.Update(number->status());
  if (!status.ok()) return status;
  options.group.group_by_stack_n = static_cast<int>(*frames);
  options.row_limit = *row_limit;
  options.max_keys = static_cast<size_t>(*max_keys);

  if (const std::string* sort_by = FindParameter(spec, "sort_by")) {
    if (FindSortKey(*sort_by) == nullptr) return Bad(spec, "sort_by", *sort_by, "one of " + SortKeyNames());
    options.sort_by = *sort_by;
  }
  if (const std::string* format = FindParameter(spec, "format")) {
    if (*format != "text" && *format != "json") return Bad(spec, "format", *format, "text or json");
    options.format = *format == "json" ? TableExporterOptions::Format::kJson : TableExporterOptions::Format::kText;
  }
  if (const std::string* every = FindParameter(spec, "every")) {
    if (!absl::ParseDuration(*every, &options.every) || options.every < absl::Seconds(1) ||
        options.every > absl::Hours(1000)) {
      return Bad(spec, "every", *every, "a time from 1s to 1000h");
    }
  }
  return options;
}

}  // namespace ferret
