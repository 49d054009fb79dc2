// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MakeTransport: the transport that a configuration asks for.

#ifndef FERRET_EXPORTERS_OTLP_MAKE_TRANSPORT_H_
#define FERRET_EXPORTERS_OTLP_MAKE_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/transport.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

// Loads what they need for the enabled signals. On the thread that starts the session, so that no exporter's thread is in
// the middle of it when the program forks: the child would wait for that. What is missing MakeTransport says.
void LoadTransports(const OtlpConfig& config);

// For those of the enabled signals that have this protocol. Connects to nothing. An error says what is missing on this
// machine, or what is wrong with a URL, a header or a file.
// The clock lives as long as the process.
absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(const OtlpConfig& config, Protocol protocol,
                                                         RunnerClock* clock);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_MAKE_TRANSPORT_H_
