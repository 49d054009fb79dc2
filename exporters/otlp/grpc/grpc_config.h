// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GrpcConfig: a signal's settings in gRPC's terms, checked, with its PEM files read.

#ifndef FERRET_EXPORTERS_OTLP_GRPC_GRPC_CONFIG_H_
#define FERRET_EXPORTERS_OTLP_GRPC_GRPC_CONFIG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/otlp/config/otlp_config.h"

namespace ferret::otlp {

struct GrpcEndpoint {
  std::string target;
  bool tls = false;
};

// "http://host:4317" is plain, "https://host" TLS. Without a scheme ("host:4317", or "dns:///host:4317" as gRPC has
// it) it is TLS unless `insecure`. "unix:/path" is plain: nothing of it leaves the machine. An error says what is wrong.
absl::StatusOr<GrpcEndpoint> ReadGrpcEndpoint(std::string_view url, bool insecure);

struct GrpcConfig {
  GrpcEndpoint endpoint;
  std::vector<std::pair<std::string, std::string>> headers;  // keys in lower case
  bool gzip = false;
  // PEM; empty for none.
  std::string ca;
  std::string client_key;
  std::string client_certificate;

  // Errors never show the value of a header, nor what is in a file.
  static absl::StatusOr<GrpcConfig> From(const SignalConfig& config);

  friend bool operator==(const GrpcConfig& a, const GrpcConfig& b) {
    return a.endpoint.target == b.endpoint.target && a.endpoint.tls == b.endpoint.tls && a.headers == b.headers &&
           a.gzip == b.gzip && a.ca == b.ca && a.client_key == b.client_key &&
           a.client_certificate == b.client_certificate;
  }
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_GRPC_GRPC_CONFIG_H_
