// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/otlp_config.h"

#include <optional>
#include <utility>

#include "exporters/otlp/config/config_parts.h"
#include "exporters/otlp/config/otlp_parameters.h"
#include "exporters/otlp/config/otlp_variables.h"
#include "exporters/otlp/config/trace_context.h"

namespace ferret::otlp {
namespace {

absl::Status ReadLaunch(const ExporterSpec& spec, OtlpConfig* config) {
  const absl::StatusOr<std::optional<size_t>> launch = WordParameter(spec, "launch", {"parent", "link"});
  if (!launch.ok()) return launch.status();
  config->link_kernels = launch->value_or(0) == 1;
  return absl::OkStatus();
}

absl::Status ReadInterval(const ExporterSpec& spec, const OtlpVariables& variables, OtlpConfig* config) {
  const absl::StatusOr<std::optional<absl::Duration>> interval = DurationParameter(spec, "interval", /*zero=*/false);
  if (!interval.ok()) return interval.status();
  if (interval->has_value()) {
    config->metric_interval = **interval;
  } else if (const std::optional<int64_t> milliseconds = variables.Number("OTEL_METRIC_EXPORT_INTERVAL", 1)) {
    config->metric_interval = absl::Milliseconds(*milliseconds);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OtlpConfig> ReadOtlpConfig(const ExporterSpec& spec, const GetEnv& getenv) {
  absl::Status status = CheckParameters(
      spec, {"protocol", "timeout", "headers",  "compression", "certificate", "client_key", "client_certificate",
             "insecure", "traces",  "metrics",  "interval",    "detail",      "every",      "steps",
             "slow",     "hold",    "launch",   "batch",       "delay",       "queue",      "spill",
             "spill_size"});
  if (!status.ok()) return status;
  OtlpConfig config;
  config.resource = ReadResourceEnvironment(getenv);
  std::vector<std::string> warnings = std::move(config.resource.warnings);
  config.resource.warnings.clear();
  const OtlpVariables variables(getenv, &warnings);
  const std::string file = variables.Text("OTEL_CONFIG_FILE");
  if (!file.empty()) variables.Ignore("OTEL_CONFIG_FILE", file, "the file is not read; other variables count");

  config.remote = ReadRemoteContext(variables);
  status = ReadEnabled(spec, variables, &config);
  for (const Signal signal : {Signal::kTraces, Signal::kMetrics}) {
    if (status.ok()) status = ReadSignal(spec, variables, signal, &config.signals[static_cast<size_t>(signal)]);
  }
  if (status.ok()) status = ReadSampling(spec, &config.sampling);
  if (status.ok()) status = ReadDelivery(spec, variables, &config.delivery);
  if (status.ok()) status = ReadLaunch(spec, &config);
  if (status.ok()) status = ReadInterval(spec, variables, &config);
  if (!status.ok()) return status;
  ReadLimits(variables, &config);
  config.warnings = std::move(warnings);
  return config;
}

}  // namespace ferret::otlp
