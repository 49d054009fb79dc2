// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where `ferret otlp-replay` sends to: what the options and the OTEL_* variables say, as for a run.

#ifndef FERRET_TOOLS_REPLAY_TRANSPORT_H_
#define FERRET_TOOLS_REPLAY_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "exporters/otlp/delivery/delivery_options.h"
#include "exporters/otlp/transport.h"

namespace ferret {

// A MakeReplayTransport. Warns of variables on standard error.
absl::StatusOr<std::unique_ptr<otlp::Transport>> ReplayTransport(const std::string& endpoint, const std::string& protocol,
                                                                 otlp::DeliveryOptions* options);

}  // namespace ferret

#endif  // FERRET_TOOLS_REPLAY_TRANSPORT_H_
