// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_config.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferret::otlp {
namespace {

constexpr size_t kMostPemBytes = 4 << 20;

absl::StatusOr<std::string> ReadPem(const std::string& path, absl::string_view what, absl::string_view marker) {
  if (path.empty()) return std::string();
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  std::string text;
  bool read = file != nullptr;
  if (read) {
    text.resize(kMostPemBytes);
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    read = std::ferror(file.get()) == 0;
  }
  if (!read) return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path, " cannot be read"));
  if (!absl::StrContains(text, marker)) {
    return absl::InvalidArgumentError(absl::StrCat(what, " ", path, ": no \"", marker, "\" in it, so it is not PEM"));
  }
  return text;
}

// gRPC aborts the process on metadata that it does not allow.
absl::StatusOr<std::string> HeaderKey(const std::string& given) {
  const std::string key = absl::AsciiStrToLower(given);
  const bool printable = std::all_of(given.begin(), given.end(),
                                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
  if (!printable) return absl::InvalidArgumentError("a header's name has a character that is not printable ASCII");
  if (key.empty()) return absl::InvalidArgumentError("a header has no name");
  for (const char c : key) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') {
      return absl::InvalidArgumentError(absl::StrCat("header \"", key, "\": gRPC does not allow '",
                                                     absl::string_view(&c, 1), "' in a name"));
    }
  }
  bool taken = absl::StartsWith(key, "grpc-");
  for (const absl::string_view own : {"content-type", "te", "user-agent", "host", "connection"}) taken |= key == own;
  if (taken) return absl::InvalidArgumentError(absl::StrCat("header \"", key, "\" is gRPC's own"));
  return key;
}

}  // namespace

absl::StatusOr<GrpcConfig> GrpcConfig::From(const SignalConfig& config) {
  GrpcConfig result;
  absl::StatusOr<GrpcEndpoint> endpoint = ReadGrpcEndpoint(config.url, config.insecure);
  if (!endpoint.ok()) return endpoint.status();
  result.endpoint = *std::move(endpoint);
  result.gzip = config.gzip;
  for (const auto& [given, value] : config.headers) {
    absl::StatusOr<std::string> key = HeaderKey(given);
    if (!key.ok()) return key.status();
    const bool allowed = std::all_of(value.begin(), value.end(),
                                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
    if (!allowed) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value of header \"", *key, "\" has a character that is not printable ASCII"));
    }
    result.headers.emplace_back(*std::move(key), value);
  }
  // What belongs to TLS means nothing to a plain connection, as with every other exporter.
  if (!result.endpoint.tls) return result;
  constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----";
  absl::StatusOr<std::string> ca = ReadPem(config.ca_file, "the CA's certificate", kCertificate);
  if (!ca.ok()) return ca.status();
  absl::StatusOr<std::string> key = ReadPem(config.client_key_file, "the client's key", "PRIVATE KEY-----");
  if (!key.ok()) return key.status();
  absl::StatusOr<std::string> certificate =
      ReadPem(config.client_certificate_file, "the client's certificate", kCertificate);
  if (!certificate.ok()) return certificate.status();
  if (key->empty() != certificate->empty()) {
    return absl::InvalidArgumentError("a client's key and its certificate go together: one of them is missing");
  }
  result.ca = *std::move(ca);
  result.client_key = *std::move(key);
  result.client_certificate = *std::move(certificate);
  return result;
}

}  // namespace ferret::otlp
