// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts that an OtlpConfig is put together from. Errors are about parameters, and name them.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_CONFIG_PARTS_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_CONFIG_PARTS_H_

#include "absl/status/status.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/config/otlp_variables.h"
#include "runtime/export/export_spec.h"

namespace ferret::otlp {

// Everything of SignalConfig but `enabled`.
absl::Status ReadSignal(const ExporterSpec& spec, const OtlpVariables& variables, Signal signal, SignalConfig* config);

// SignalConfig::enabled of all signals. Reads config->remote.
absl::Status ReadEnabled(const ExporterSpec& spec, const OtlpVariables& variables, OtlpConfig* config);

absl::Status ReadSampling(const ExporterSpec& spec, SamplingConfig* config);

absl::Status ReadDelivery(const ExporterSpec& spec, const OtlpVariables& variables, DeliveryConfig* config);

// OTEL_SPAN_*_LIMIT and OTEL_ATTRIBUTE_*_LIMIT.
void ReadLimits(const OtlpVariables& variables, OtlpConfig* config);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_CONFIG_PARTS_H_
