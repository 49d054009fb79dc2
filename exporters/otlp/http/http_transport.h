// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HttpTransport: OTLP over HTTP/1.1, in protobuf or JSON, over the libcurl of the machine.
//
// One connection is kept and used again. The environment's proxies apply (http_proxy, https_proxy, no_proxy), redirects are
// not followed, a name that cannot be resolved may be there another time. Only https verifies whom it talks to.
//
// Where a receiver refuses the first compressed request, it gets the same once more without compression. If it takes that,
// nothing is compressed any more, and the outcome's message says so.
//
// Send is for a thread that has SIGPIPE blocked, as all of Ferret's have: older libcurls raise it where a TLS connection
// breaks. The threads on which libcurl looks up names inherit that mask.
//
// A lookup that hangs is left to itself when Send ends or the transport is destroyed, which needs libcurl 7.87. With an
// older one both may take as long as the lookup; who must not wait, leaks the transport.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_HTTP_TRANSPORT_H_
#define FERRET_EXPORTERS_OTLP_HTTP_HTTP_TRANSPORT_H_

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/otlp/http/curl_session.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/gzip_body.h"
#include "exporters/otlp/http/http_poster.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

class HttpTransport final : public Transport {
 public:
  using Signals = std::array<SignalConfig, kSignalCount>;

  // For the signals that are enabled; their `protocol` is not looked at, `form` goes for all. An error says that there is
  // no libcurl, or what is wrong with a URL, a header or a file. Connects to nothing.
  static absl::StatusOr<std::unique_ptr<HttpTransport>> Create(const Signals& signals, Form form);

  SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) override;
  void Cancel() override { session_->Cancel(); }
  Form form() const override { return form_; }
  std::string Destination() const override { return destinations_[0].empty() ? destinations_[1] : destinations_[0]; }
  std::string DestinationOf(Signal signal) const override { return destinations_[static_cast<size_t>(signal)]; }

 private:
  enum class Gzip : uint8_t { kOff, kUntried, kTaken };
  struct Way {
    std::unique_ptr<HttpPoster> poster;  // null: this signal is off
    Gzip gzip = Gzip::kOff;
  };

  HttpTransport(const CurlTable* curl, std::unique_ptr<CurlSession> session, Form form)
      : curl_(curl), session_(std::move(session)), form_(form) {}
  SendOutcome SendPlain(Way* way, Signal signal, std::string_view body, RunnerClock::Time deadline);
  SendOutcome SendCompressed(Way* way, Signal signal, std::string_view body, RunnerClock::Time deadline);

  const CurlTable* const curl_;
  const std::unique_ptr<CurlSession> session_;  // outlives the posters
  const Form form_;
  std::array<std::string, kSignalCount> destinations_;  // by Signal
  std::array<Way, kSignalCount> ways_;  // by Signal
  GzipBody gzip_body_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_HTTP_TRANSPORT_H_
