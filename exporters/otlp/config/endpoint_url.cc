// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/endpoint_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace ferret::otlp {
namespace {

constexpr char kUnix[] = "unix";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Bad(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

bool IsAddress6(const std::string& host, in6_addr* address) { return inet_pton(AF_INET6, host.c_str(), address) == 1; }

bool IsHostName(absl::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  });
}

bool IsPort(absl::string_view port) {
  int number = 0;
  return port.size() <= 5 && std::all_of(port.begin(), port.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(port, &number) && number >= 1 && number <= 65535;
}

// host, host:port, [::1] or [::1]:port.
absl::Status ParseAuthority(EndpointUrl* endpoint) {
  absl::string_view rest = endpoint->authority;
  if (absl::ConsumePrefix(&rest, "[")) {
    const size_t bracket = rest.find(']');
    if (bracket == absl::string_view::npos) return Bad("a '[' has no ']'");
    endpoint->host = std::string(rest.substr(0, bracket));
    rest.remove_prefix(bracket + 1);
    in6_addr address;
    if (!IsAddress6(endpoint->host, &address)) return Bad("what is in brackets is no IPv6 address");
  } else {
    endpoint->host = std::string(rest.substr(0, rest.find(':')));
    rest.remove_prefix(endpoint->host.size());
    if (endpoint->host.empty()) return Bad("there is no host");
    if (!IsHostName(endpoint->host)) return Bad("the host may have letters, digits, '-', '.' and '_', or be [IPv6]");
  }
  if (rest.empty()) return absl::OkStatus();
  if (!absl::ConsumePrefix(&rest, ":") || !IsPort(rest)) return Bad("the port is not a number from 1 to 65535");
  return absl::OkStatus();
}

absl::Status CheckText(absl::string_view text) {
  if (!std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); })) {
    return Bad("spaces and other characters that do not print are not allowed");
  }
  if (absl::StrContains(text, '#')) return Bad("a '#' is not allowed");
  return absl::OkStatus();
}

// After the scheme: authority, path and query.
absl::Status ParseRest(absl::string_view rest, EndpointUrl* endpoint) {
  const size_t question = std::min(rest.find('?'), rest.size());
  endpoint->query = std::string(rest.substr(question));
  rest = rest.substr(0, question);
  const size_t slash = std::min(rest.find('/'), rest.size());
  endpoint->authority = std::string(rest.substr(0, slash));
  endpoint->path = std::string(rest.substr(slash));
  if (absl::StrContains(endpoint->authority, '@')) return Bad("a user name is not allowed; credentials go into headers");
  return ParseAuthority(endpoint);
}

// Takes the scheme off `text`.
std::string TakeScheme(absl::string_view* text) {
  const size_t end = text->find("://");
  if (end == absl::string_view::npos) return "";
  std::string scheme = absl::AsciiStrToLower(text->substr(0, end));
  text->remove_prefix(end + 3);
  return scheme;
}

std::string Place(const EndpointUrl& endpoint) { return absl::StrCat(endpoint.scheme, "://", endpoint.authority); }

}  // namespace

absl::StatusOr<EndpointUrl> ParseHttpEndpoint(std::string_view text) {
  absl::string_view rest = View(text);
  absl::Status status = CheckText(rest);
  if (!status.ok()) return status;
  EndpointUrl endpoint;
  endpoint.scheme = TakeScheme(&rest);
  if (endpoint.scheme != "http" && endpoint.scheme != "https") return Bad("it has to begin with http:// or https://");
  status = ParseRest(rest, &endpoint);
  if (!status.ok()) return status;
  return endpoint;
}

absl::StatusOr<EndpointUrl> ParseGrpcEndpoint(std::string_view text) {
  absl::string_view rest = View(text);
  absl::Status status = CheckText(rest);
  if (!status.ok()) return status;
  EndpointUrl endpoint;
  if (absl::StartsWithIgnoreCase(rest, "unix:")) {
    endpoint.scheme = kUnix;
    rest.remove_prefix(5);
    // unix:path and unix:///path are gRPC's two ways to write it.
    if (absl::StartsWith(rest, "//") && !absl::StartsWith(rest, "///")) {
      return Bad("after unix:// the path has to begin with /");
    }
    absl::ConsumePrefix(&rest, "//");
    endpoint.path = std::string(rest);
    if (endpoint.path.empty()) return Bad("there is no path of a socket");
    return endpoint;
  }
  endpoint.scheme = TakeScheme(&rest);
  if (!endpoint.scheme.empty() && endpoint.scheme != "http" && endpoint.scheme != "https") {
    return Bad("the scheme may be http, https or unix, or be left out");
  }
  status = ParseRest(rest, &endpoint);
  if (!status.ok()) return status;
  if (!endpoint.query.empty()) return Bad("gRPC has no use for a query");
  return endpoint;
}

std::string UrlBelow(const EndpointUrl& endpoint, Signal signal) {
  const bool ends_in_slash = absl::EndsWith(endpoint.path, "/");
  return absl::StrCat(Place(endpoint), endpoint.path, ends_in_slash ? "" : "/",
                      signal == Signal::kTraces ? "v1/traces" : "v1/metrics", endpoint.query);
}

std::string UrlAsItIs(const EndpointUrl& endpoint) {
  return absl::StrCat(Place(endpoint), endpoint.path.empty() ? "/" : endpoint.path, endpoint.query);
}

std::string GrpcTarget(const EndpointUrl& endpoint) {
  if (endpoint.scheme == kUnix) return absl::StrCat("unix:", endpoint.path);
  return endpoint.scheme.empty() ? endpoint.authority : Place(endpoint);
}

bool IsLoopback(const EndpointUrl& endpoint) {
  if (endpoint.scheme == kUnix) return true;
  const std::string lower = absl::AsciiStrToLower(absl::StripSuffix(endpoint.host, "."));
  if (lower == "localhost" || absl::EndsWith(lower, ".localhost")) return true;
  in_addr address4;
  if (inet_pton(AF_INET, lower.c_str(), &address4) == 1) return ntohl(address4.s_addr) >> 24 == 127;
  in6_addr address6;
  if (!IsAddress6(lower, &address6)) return false;
  return IN6_IS_ADDR_LOOPBACK(&address6) || (IN6_IS_ADDR_V4MAPPED(&address6) && address6.s6_addr[12] == 127);
}

}  // namespace ferret::otlp
