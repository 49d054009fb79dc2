// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExporterSpec: one exporter as FERRET_EXPORT asks for it.
//
//     FERRET_EXPORT=name[:target][?key=value&...][,...]
//     FERRET_EXPORT=chrome_trace:trace-%r.json.gz,otlp:http://127.0.0.1:4318?timeout=5s,table:stderr
//
// A value is percent-decoded. A target is taken as it is, since it has its own patterns (%p, %r, ...) and may be a URL;
// only %2C and %3F stand for a comma and a question mark.

#ifndef FERRET_RUNTIME_EXPORT_EXPORT_SPEC_H_
#define FERRET_RUNTIME_EXPORT_EXPORT_SPEC_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferret {

struct ExporterSpec {
  std::string name;
  std::string target;  // empty: the exporter's default
  std::vector<std::pair<std::string, std::string>> parameters;  // keys are unique
};

// The value of FERRET_EXPORT; none for a blank one. An error names the entry, what is wrong with it and what is
// allowed.
absl::StatusOr<std::vector<ExporterSpec>> ParseExporterSpecs(std::string_view text);

// Whether a name can be written in FERRET_EXPORT: a lower-case letter, then lower-case letters, digits, '_' and '-'.
bool IsExporterName(std::string_view name);

// A text from outside, fit for one line of a message: escaped, and cut if it is long.
std::string ShownText(std::string_view text);

// For factories. InvalidArgument that names the first parameter that is not allowed, and those that are.
absl::Status CheckParameters(const ExporterSpec& spec, std::initializer_list<std::string_view> allowed);
// The value of a parameter, or null.
const std::string* FindParameter(const ExporterSpec& spec, std::string_view key);
// A decimal number between min and max; `absent` if the parameter is not there.
absl::StatusOr<int64_t> IntParameter(const ExporterSpec& spec, std::string_view key, int64_t absent, int64_t min,
                                     int64_t max);
// A size of at least `min` bytes, "64MB"; `absent` if the parameter is not there.
absl::StatusOr<uint64_t> SizeParameter(const ExporterSpec& spec, std::string_view key, uint64_t absent, uint64_t min);
// At which size an output is split, "300MB": at least 1 MB. 0, for never, if the parameter is "0" or not there.
absl::StatusOr<uint64_t> SplitParameter(const ExporterSpec& spec, std::string_view key);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_EXPORT_SPEC_H_
