// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How one signal is sent: a parameter, or else the signal's own variable, or else the one for all, or else the default.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/config/config_parts.h"
#include "exporters/otlp/config/header_list.h"
#include "exporters/otlp/config/otlp_parameters.h"
#include "exporters/otlp/config/signal_endpoint.h"

namespace ferret::otlp {
namespace {

std::string OwnName(Signal signal, const char* what) {
  return absl::StrCat("OTEL_EXPORTER_OTLP_", signal == Signal::kTraces ? "TRACES_" : "METRICS_", what);
}
std::string CommonName(const char* what) { return absl::StrCat("OTEL_EXPORTER_OTLP_", what); }

absl::Duration NoneIfZero(absl::Duration limit) {
  return limit == absl::ZeroDuration() ? absl::InfiniteDuration() : limit;
}

class SignalReader {
 public:
  SignalReader(const ExporterSpec& spec, const OtlpVariables& variables, Signal signal, SignalConfig* config)
      : spec_(spec), variables_(variables), signal_(signal), config_(*config) {}

  absl::Status Read() {
    for (const auto step : {&SignalReader::ReadProtocol, &SignalReader::ReadEndpoint, &SignalReader::ReadHeaders,
                            &SignalReader::ReadTimeout, &SignalReader::ReadCompression, &SignalReader::ReadFiles,
                            &SignalReader::ReadInsecure}) {
      absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // What `read` makes of the signal's own variable, or else of the one for all.
  template <typename Reader>
  auto FromVariable(const char* what, const Reader& read) const {
    auto own = read(OwnName(signal_, what));
    return own.has_value() ? own : read(CommonName(what));
  }

  absl::Status ReadProtocol() {
    const std::vector<std::string> words = {"http/protobuf", "http/json", "grpc"};  // by Protocol
    absl::StatusOr<std::optional<size_t>> word = WordParameter(spec_, "protocol", words);
    if (!word.ok()) return word.status();
    if (!word->has_value()) {
      *word = FromVariable("PROTOCOL", [&](const std::string& name) { return variables_.Word(name, words); });
    }
    if (word->has_value()) config_.protocol = static_cast<Protocol>(**word);
    return absl::OkStatus();
  }

  bool IsGrpc() const { return config_.protocol == Protocol::kGrpc; }

  absl::Status ReadEndpoint() {
    absl::StatusOr<SignalEndpoint> endpoint = ChooseEndpoint(spec_, variables_, signal_, config_.protocol);
    if (!endpoint.ok()) return endpoint.status();
    endpoint_ = *std::move(endpoint);
    config_.url = endpoint_.url;
    return absl::OkStatus();
  }

  absl::Status ReadHeaders() {
    if (const std::string* const text = FindParameter(spec_, "headers")) {
      absl::StatusOr<Headers> headers = ForProtocol(ParseHeaders(*text));
      if (!headers.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(spec_.name, ": headers: ", headers.status().message()));
      }
      config_.headers = *std::move(headers);
      return absl::OkStatus();
    }
    const auto read = [&](const std::string& name) -> std::optional<Headers> {
      const std::optional<Headers> list = variables_.HeaderList(name);
      if (!list.has_value()) return std::nullopt;
      const absl::StatusOr<Headers> taken = ForProtocol(*list);
      if (taken.ok()) return *taken;
      variables_.Warn(absl::StrCat(name, " is ignored: ", taken.status().message()));
      return std::nullopt;
    };
    const std::optional<Headers> headers = FromVariable("HEADERS", read);
    if (headers.has_value()) config_.headers = *headers;
    return absl::OkStatus();
  }

  absl::StatusOr<Headers> ForProtocol(absl::StatusOr<Headers> headers) const {
    return headers.ok() && IsGrpc() ? GrpcHeaders(*headers) : headers;
  }

  absl::Status ReadTimeout() {
    const absl::StatusOr<std::optional<absl::Duration>> given = DurationParameter(spec_, "timeout", /*zero=*/true);
    if (!given.ok()) return given.status();
    if (given->has_value()) {
      config_.timeout = NoneIfZero(**given);
      return absl::OkStatus();
    }
    const auto read = [&](const std::string& name) { return variables_.Milliseconds(name); };
    const std::optional<absl::Duration> timeout = FromVariable("TIMEOUT", read);
    if (timeout.has_value()) config_.timeout = NoneIfZero(*timeout);
    // Of an SDK's own stages around the exporter: the shorter of the two ends it.
    const std::optional<absl::Duration> outer =
        read(signal_ == Signal::kTraces ? "OTEL_BSP_EXPORT_TIMEOUT" : "OTEL_METRIC_EXPORT_TIMEOUT");
    if (outer.has_value()) config_.timeout = std::min(config_.timeout, NoneIfZero(*outer));
    return absl::OkStatus();
  }

  absl::Status ReadCompression() {
    const std::vector<std::string> words = {"none", "gzip"};
    absl::StatusOr<std::optional<size_t>> word = WordParameter(spec_, "compression", words);
    if (!word.ok()) return word.status();
    if (!word->has_value()) {
      *word = FromVariable("COMPRESSION", [&](const std::string& name) { return variables_.Word(name, words); });
    }
    // On one machine nothing is gained for the time it takes.
    config_.gzip = word->has_value() ? **word == 1 : !endpoint_.is_loopback;
    return absl::OkStatus();
  }

  std::string ReadFile(const char* parameter, const char* what) const {
    if (const std::string* const text = FindParameter(spec_, parameter)) return *text;
    const std::string own = variables_.Text(OwnName(signal_, what));
    return own.empty() ? variables_.Text(CommonName(what)) : own;
  }

  absl::Status ReadFiles() {
    config_.ca_file = ReadFile("certificate", "CERTIFICATE");
    config_.client_key_file = ReadFile("client_key", "CLIENT_KEY");
    config_.client_certificate_file = ReadFile("client_certificate", "CLIENT_CERTIFICATE");
    if (config_.client_key_file.empty() || !config_.client_certificate_file.empty()) return absl::OkStatus();
    if (FindParameter(spec_, "client_key") != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(spec_.name, ": client_key needs a client_certificate"));
    }
    variables_.Warn("OTEL_EXPORTER_OTLP_CLIENT_KEY is ignored: it needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE");
    config_.client_key_file.clear();
    return absl::OkStatus();
  }

  absl::Status ReadInsecure() {
    absl::StatusOr<std::optional<bool>> insecure = SwitchParameter(spec_, "insecure");
    if (!insecure.ok()) return insecure.status();
    if (!insecure->has_value()) {
      *insecure = FromVariable("INSECURE", [&](const std::string& name) { return variables_.Bool(name); });
    }
    config_.insecure = insecure->value_or(false) && IsGrpc() && !endpoint_.has_scheme;
    return absl::OkStatus();
  }

  const ExporterSpec& spec_;
  const OtlpVariables& variables_;
  const Signal signal_;
  SignalConfig& config_;
  SignalEndpoint endpoint_;
};

}  // namespace

absl::Status ReadSignal(const ExporterSpec& spec, const OtlpVariables& variables, Signal signal, SignalConfig* config) {
  return SignalReader(spec, variables, signal, config).Read();
}

}  // namespace ferret::otlp
