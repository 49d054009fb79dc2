// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters of FERRET_EXPORT as typed values. An error names the parameter, the value and what is allowed.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_OTLP_PARAMETERS_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_OTLP_PARAMETERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/export/export_spec.h"

namespace ferret::otlp {

// "otlp: key=value is not allowed; allowed is …"
absl::Status BadParameter(const ExporterSpec& spec, std::string_view key, std::string_view allowed);

// None if the parameter is not there.
absl::StatusOr<std::optional<size_t>> WordParameter(const ExporterSpec& spec, std::string_view key,
                                                    const std::vector<std::string>& words);
// "on" and "off".
absl::StatusOr<std::optional<bool>> SwitchParameter(const ExporterSpec& spec, std::string_view key);
// "5s", "1m30s"; at least 1 ms or, if `zero` is allowed, 0.
absl::StatusOr<std::optional<absl::Duration>> DurationParameter(const ExporterSpec& spec, std::string_view key,
                                                                bool zero);
// 0, or from 1 on.
absl::StatusOr<double> FactorParameter(const ExporterSpec& spec, std::string_view key, double absent);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_OTLP_PARAMETERS_H_
