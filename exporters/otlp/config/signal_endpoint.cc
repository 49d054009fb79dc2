// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/signal_endpoint.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/config/endpoint_url.h"
#include "runtime/text/json_text.h"

namespace ferret::otlp {
namespace {

// Before an '@' there may be a password, and in a query a key.
std::string Shown(const std::string& text) {
  constexpr size_t kMostShown = 100;
  if (absl::StrContains(text, '@')) return "(not shown)";
  return QuotedJson(text.substr(0, std::min(kMostShown, text.find('?'))));
}

absl::StatusOr<EndpointUrl> Parse(const std::string& text, Protocol protocol) {
  return protocol == Protocol::kGrpc ? ParseGrpcEndpoint(text) : ParseHttpEndpoint(text);
}

// gRPC has no use for a path, which is no reason to send somewhere else.
bool HasIdlePath(const EndpointUrl& endpoint, Protocol protocol) {
  return protocol == Protocol::kGrpc && endpoint.scheme != "unix" && !endpoint.path.empty() && endpoint.path != "/";
}

bool NamesASignal(const EndpointUrl& endpoint) {
  return absl::EndsWith(endpoint.path, "/v1/traces") || absl::EndsWith(endpoint.path, "/v1/metrics");
}

absl::StatusOr<EndpointUrl> ParseTarget(const ExporterSpec& spec, Protocol protocol) {
  absl::StatusOr<EndpointUrl> endpoint = Parse(spec.target, protocol);
  std::string reason(endpoint.status().message());
  if (endpoint.ok() && HasIdlePath(*endpoint, protocol)) reason = "gRPC has no use for a path";
  if (endpoint.ok() && protocol != Protocol::kGrpc && NamesASignal(*endpoint)) {
    reason = "it is the base of all signals, to which v1/traces and v1/metrics are added";
  }
  if (reason.empty()) return endpoint;
  return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", Shown(spec.target), " is no endpoint: ", reason));
}

std::optional<EndpointUrl> ParseVariable(const OtlpVariables& variables, const std::string& name, Protocol protocol) {
  const std::string text = variables.Text(name);
  if (text.empty()) return std::nullopt;
  const absl::StatusOr<EndpointUrl> endpoint = Parse(text, protocol);
  if (!endpoint.ok()) {
    variables.Warn(absl::StrCat(name, "=", Shown(text), " is ignored: ", endpoint.status().message()));
    return std::nullopt;
  }
  if (HasIdlePath(*endpoint, protocol)) {
    variables.Warn(absl::StrCat("the path in ", name, " is ignored: gRPC has no use for it"));
  }
  return *endpoint;
}

SignalEndpoint Chosen(const EndpointUrl& endpoint, std::string http_url, Protocol protocol) {
  SignalEndpoint chosen;
  chosen.url = protocol == Protocol::kGrpc ? GrpcTarget(endpoint) : std::move(http_url);
  chosen.is_loopback = IsLoopback(endpoint);
  chosen.has_scheme = !endpoint.scheme.empty();
  return chosen;
}

}  // namespace

absl::StatusOr<SignalEndpoint> ChooseEndpoint(const ExporterSpec& spec, const OtlpVariables& variables, Signal signal,
                                              Protocol protocol) {
  std::optional<EndpointUrl> base;
  if (!spec.target.empty()) {
    absl::StatusOr<EndpointUrl> target = ParseTarget(spec, protocol);
    if (!target.ok()) return target.status();
    base = *std::move(target);
  } else {
    const char* const own_name = signal == Signal::kTraces ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
                                                           : "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
    const std::optional<EndpointUrl> own = ParseVariable(variables, own_name, protocol);
    if (own.has_value()) return Chosen(*own, UrlAsItIs(*own), protocol);
    base = ParseVariable(variables, "OTEL_EXPORTER_OTLP_ENDPOINT", protocol);
  }
  if (!base.has_value()) {
    base = *Parse(protocol == Protocol::kGrpc ? "http://localhost:4317" : "http://localhost:4318", protocol);
  }
  return Chosen(*base, UrlBelow(*base, signal), protocol);
}

}  // namespace ferret::otlp
