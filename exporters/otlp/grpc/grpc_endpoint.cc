// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporters/otlp/grpc/grpc_config.h"

namespace ferret::otlp {
namespace {

absl::Status Refuse(std::string_view url, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("gRPC endpoint \"", absl::string_view(url.data(), url.size()), "\": ", reason));
}

bool StartsWith(std::string_view text, std::string_view lower_case_prefix) {
  return absl::StartsWithIgnoreCase(absl::string_view(text.data(), text.size()),
                                    absl::string_view(lower_case_prefix.data(), lower_case_prefix.size()));
}

// What a URI's path may hold as it is; the brackets of an IPv6 address are not among it.
std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~:", absl::string_view(&c, 1))) {
      encoded += c;
    } else {
      char hex[4];
      std::snprintf(hex, sizeof(hex), "%%%02X", static_cast<unsigned char>(c));
      encoded += hex;
    }
  }
  return encoded;
}

// Of "host", "host:port", "[::1]" and "[::1]:port".
absl::StatusOr<std::string> HostAndPort(std::string_view url, std::string_view authority, int default_port) {
  if (authority.find('@') != authority.npos) {
    return absl::InvalidArgumentError("gRPC endpoint: a user and a password are not supported; use headers");
  }
  std::string_view host = authority;
  std::string_view port;
  bool has_port = false;
  if (!authority.empty() && authority.front() == '[') {
    const size_t end = authority.find(']');
    if (end == authority.npos) return Refuse(url, "a ] is missing");
    host = authority.substr(0, end + 1);
    const std::string_view rest = authority.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return Refuse(url, "after ] only a port may follow");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (const size_t colon = authority.find(':'); colon != authority.npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    has_port = true;
  }
  if (host.empty() || host == "[]") return Refuse(url, "it has no host");
  int number = default_port;
  if (has_port && (!absl::SimpleAtoi(absl::string_view(port.data(), port.size()), &number) || number < 1 ||
                   number > 65535 || !absl::ascii_isdigit(static_cast<unsigned char>(port.front())))) {
    return Refuse(url, "its port is not a number from 1 to 65535");
  }
  return absl::StrCat(PercentEncoded(host), ":", number);
}

}  // namespace

absl::StatusOr<GrpcEndpoint> ReadGrpcEndpoint(std::string_view url, bool insecure) {
  // Before any message shows it.
  for (const char c : url) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("gRPC endpoint: it has a blank, a control character or one that is not ASCII");
    }
  }
  if (url.empty()) return absl::InvalidArgumentError("gRPC endpoint: it is empty");

  // gRPC's own forms.
  for (const std::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (!StartsWith(url, scheme)) continue;
    if (url.substr(scheme.size()).find_first_not_of('/') == url.npos) return Refuse(url, "it has no path");
    return GrpcEndpoint{std::string(url), false};
  }
  for (const std::string_view scheme : {"dns:///", "dns://", "ipv4:", "ipv6:"}) {
    if (!StartsWith(url, scheme)) continue;
    if (url.size() == scheme.size()) return Refuse(url, "it has no host");
    return GrpcEndpoint{std::string(url), !insecure};
  }

  std::string_view authority = url;
  int default_port = 4317;  // OTLP's
  bool tls = !insecure;
  if (const size_t scheme_end = url.find("://"); scheme_end != url.npos) {
    if (StartsWith(url, "http://")) {
      default_port = 80;
      tls = false;
    } else if (StartsWith(url, "https://")) {
      default_port = 443;
      tls = true;
    } else {
      return Refuse(url, "its scheme is none of http, https, unix, dns, ipv4 and ipv6");
    }
    authority = url.substr(scheme_end + 3);
  }
  if (const size_t end = authority.find_first_of("/?#"); end != authority.npos) {
    if (authority.substr(end) != "/") return Refuse(url, "gRPC knows no path: give host and port only");
    authority = authority.substr(0, end);
  }
  absl::StatusOr<std::string> host_and_port = HostAndPort(url, authority, default_port);
  if (!host_and_port.ok()) return host_and_port.status();
  // With its resolver named, no host can be taken for another scheme of gRPC's.
  return GrpcEndpoint{absl::StrCat("dns:///", *host_and_port), tls};
}

}  // namespace ferret::otlp
