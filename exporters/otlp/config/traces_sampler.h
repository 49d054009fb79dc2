// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OTEL_TRACES_SAMPLER, as far as it fits a recorder whose trace is a whole session and that samples by steps.
//
// It is honoured where it says whether there is a trace at all. Ratios are not: one session is one trace, which is kept;
// what is sampled of it is the detail of steps, by the exporter's own parameters. If the variable is not set, traces are
// sent whatever TRACEPARENT says of sampling: FERRET_EXPORT has asked for them.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_TRACES_SAMPLER_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_TRACES_SAMPLER_H_

#include <optional>

#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/config/otlp_variables.h"

namespace ferret::otlp {

// Whether traces are sent. If not, a warning says why.
bool SamplerKeepsTraces(const OtlpVariables& variables, const std::optional<RemoteContext>& remote);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_TRACES_SAMPLER_H_
