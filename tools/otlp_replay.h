// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret otlp-replay`: sends what files have kept to an OTLP receiver.

#ifndef FERRET_TOOLS_OTLP_REPLAY_H_
#define FERRET_TOOLS_OTLP_REPLAY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "exporters/otlp/delivery/delivery_options.h"
#include "exporters/otlp/transport.h"

namespace ferret {

// Where an endpoint and a protocol, both as on the command line and empty if they are not there, lead to. May also fill
// in the timeouts.
using MakeReplayTransport = std::function<absl::StatusOr<std::unique_ptr<otlp::Transport>>(
    const std::string& endpoint, const std::string& protocol, otlp::DeliveryOptions* options)>;

// `arguments` is what follows "otlp-replay", ending with null. Returns an exit status: 0 only if everything in all files
// was delivered.
int OtlpReplay(char** arguments, const MakeReplayTransport& make_transport, otlp::DeliveryOptions options = {});

extern const char kOtlpReplayUsage[];

}  // namespace ferret

#endif  // FERRET_TOOLS_OTLP_REPLAY_H_
