// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GrpcTransport: requests as unary gRPC calls, by libferret_otlp_grpc.so. Nothing of gRPC is linked here.

#ifndef FERRET_EXPORTERS_OTLP_GRPC_GRPC_TRANSPORT_H_
#define FERRET_EXPORTERS_OTLP_GRPC_GRPC_TRANSPORT_H_

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "exporters/otlp/grpc/grpc_plugin.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

class GrpcTransport final : public Transport {
 public:
  using Signals = std::array<SignalConfig, kSignalCount>;

  // For the signals that are enabled and have this protocol; those with the same settings share a connection. Nothing is
  // connected yet: a receiver that is not there is Send's to find out. `library` for tests: see LoadGrpcLibrary.
  static absl::StatusOr<std::unique_ptr<GrpcTransport>> Open(const Signals& signals, RunnerClock* clock,
                                                             const std::string& library = "");

  ~GrpcTransport() override;
  GrpcTransport(const GrpcTransport&) = delete;
  GrpcTransport& operator=(const GrpcTransport&) = delete;

  SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) override;
  void Cancel() override;
  Form form() const override { return Form::kProtobuf; }
  std::string Destination() const override { return destinations_[0].empty() ? destinations_[1] : destinations_[0]; }
  std::string DestinationOf(Signal signal) const override { return destinations_[static_cast<size_t>(signal)]; }

 private:
  GrpcTransport(const ferret_otlp_grpc_api* api, RunnerClock* clock);

  const ferret_otlp_grpc_api* const api_;
  RunnerClock* const clock_;
  const pid_t process_;  // gRPC does not outlive a fork
  std::array<ferret_otlp_grpc_handle*, kSignalCount> handles_{};  // by Signal; the same twice, or null
  std::array<std::string, kSignalCount> destinations_;  // by Signal
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_GRPC_GRPC_TRANSPORT_H_
