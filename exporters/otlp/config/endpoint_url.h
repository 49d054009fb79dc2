// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EndpointUrl: where requests go, as OTEL_EXPORTER_OTLP_ENDPOINT and its like say it.
//
// Scheme, host, port and path are honoured as they were given; nothing else is rewritten. A user name in a URL is
// refused: URLs are shown to people, and credentials have headers. No error shows a text with an '@'.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_ENDPOINT_URL_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_ENDPOINT_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

struct EndpointUrl {
  std::string scheme;     // lower case: "http", "https" or "unix"; empty if there is none
  std::string host;       // without brackets; empty for unix
  std::string authority;  // host and port as they were given
  std::string path;       // from the first '/' on, or empty; of unix the socket's
  std::string query;      // with its '?', or empty
};

// For HTTP: http or https.
absl::StatusOr<EndpointUrl> ParseHttpEndpoint(std::string_view text);
// For gRPC: http, https, unix or no scheme, and no query.
absl::StatusOr<EndpointUrl> ParseGrpcEndpoint(std::string_view text);

// Where a signal is posted to if `endpoint` is the base for all signals: "…/v1/traces".
std::string UrlBelow(const EndpointUrl& endpoint, Signal signal);
// Where it is posted to if `endpoint` is this signal's own: as it is; without a path at "/".
std::string UrlAsItIs(const EndpointUrl& endpoint);
// What gRPC is given: without the path, for which it has no use.
std::string GrpcTarget(const EndpointUrl& endpoint);

// Whether requests stay on this machine.
bool IsLoopback(const EndpointUrl& endpoint);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_ENDPOINT_URL_H_
