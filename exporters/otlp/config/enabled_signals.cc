// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which signals are sent: the parameters traces and metrics, or else OTEL_TRACES_EXPORTER with OTEL_TRACES_SAMPLER, and
// OTEL_METRICS_EXPORTER.

#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporters/otlp/config/config_parts.h"
#include "exporters/otlp/config/otlp_parameters.h"
#include "exporters/otlp/config/traces_sampler.h"

namespace ferret::otlp {
namespace {

// Whether a list of exporters has this one in it; an exporter that is not of Ferret's says nothing about this one.
bool ListHasOtlp(const OtlpVariables& variables, const std::string& name) {
  const std::string list = variables.Text(name);
  bool has_otlp = false, has_none = false;
  for (absl::string_view entry : absl::StrSplit(absl::AsciiStrToLower(list), ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty()) continue;
    has_otlp = has_otlp || entry == "otlp";
    has_none = has_none || entry == "none";
    if (entry != "otlp" && entry != "none") {
      variables.Ignore(name, {entry.data(), entry.size()},
                       "allowed is otlp, none; other exporters are FERRET_EXPORT's to name");
    }
  }
  return has_otlp || !has_none;
}

}  // namespace

absl::Status ReadEnabled(const ExporterSpec& spec, const OtlpVariables& variables, OtlpConfig* config) {
  const absl::StatusOr<std::optional<bool>> traces = SwitchParameter(spec, "traces");
  if (!traces.ok()) return traces.status();
  const absl::StatusOr<std::optional<bool>> metrics = SwitchParameter(spec, "metrics");
  if (!metrics.ok()) return metrics.status();
  if (traces->has_value() && metrics->has_value() && !**traces && !**metrics) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.name, ": with traces=off and metrics=off there is nothing to send"));
  }
  SignalConfig& of_traces = config->signals[static_cast<size_t>(Signal::kTraces)];
  SignalConfig& of_metrics = config->signals[static_cast<size_t>(Signal::kMetrics)];
  of_traces.enabled = traces->has_value() ? **traces
                                          : ListHasOtlp(variables, "OTEL_TRACES_EXPORTER") &&
                                                SamplerKeepsTraces(variables, config->remote);
  of_metrics.enabled = metrics->has_value() ? **metrics : ListHasOtlp(variables, "OTEL_METRICS_EXPORTER");
  return absl::OkStatus();
}

}  // namespace ferret::otlp
