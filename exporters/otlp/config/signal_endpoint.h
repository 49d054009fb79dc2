// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which endpoint a signal is sent to: the target in FERRET_EXPORT, or else the signal's own variable, or else the one for
// all signals, or else the protocol's port on this machine.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_SIGNAL_ENDPOINT_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_SIGNAL_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/config/otlp_variables.h"
#include "runtime/export/export_spec.h"

namespace ferret::otlp {

struct SignalEndpoint {
  std::string url;  // as SignalConfig has it
  bool is_loopback = false;
  bool has_scheme = false;
};

// An error is about the target.
absl::StatusOr<SignalEndpoint> ChooseEndpoint(const ExporterSpec& spec, const OtlpVariables& variables, Signal signal,
                                              Protocol protocol);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_SIGNAL_ENDPOINT_H_
