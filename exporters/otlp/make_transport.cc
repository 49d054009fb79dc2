// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/make_transport.h"

#include <array>

#include "exporters/otlp/grpc/grpc_library.h"
#include "exporters/otlp/grpc/grpc_transport.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/http_transport.h"

namespace ferret::otlp {

void LoadTransports(const OtlpConfig& config) {
  for (const SignalConfig& signal : config.signals) {
    if (!signal.enabled || config.resource.disabled) continue;
    if (signal.protocol == Protocol::kGrpc) {
      HostHasGrpc();
    } else {
      LoadCurl().IgnoreError();
    }
  }
}

absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(const OtlpConfig& config, Protocol protocol,
                                                         RunnerClock* clock) {
  std::array<SignalConfig, kSignalCount> signals = config.signals;
  for (SignalConfig& signal : signals) signal.enabled = signal.enabled && signal.protocol == protocol;
  if (protocol == Protocol::kGrpc) return GrpcTransport::Open(signals, clock);
  return HttpTransport::Create(signals, protocol == Protocol::kHttpJson ? Form::kJson : Form::kProtobuf);
}

}  // namespace ferret::otlp
