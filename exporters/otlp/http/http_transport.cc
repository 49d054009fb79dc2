// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/http_transport.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/http/outcome.h"
#include "exporters/otlp/http/signal_checks.h"

namespace ferret::otlp {
namespace {

using Kind = SendOutcome::Kind;

constexpr const char* kSignalNames[kSignalCount] = {"traces", "metrics"};

// Of a receiver that does not know Content-Encoding, or takes the compressed bytes for the message itself.
bool MayRefuseGzip(const HttpReply& reply, const SendOutcome& outcome) {
  return outcome.kind == Kind::kRefused && (reply.status == 415 || reply.status == 400);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpTransport>> HttpTransport::Create(const Signals& signals, Form form) {
  absl::StatusOr<const CurlTable*> curl = LoadCurl();
  if (!curl.ok()) return curl.status();
  absl::StatusOr<std::unique_ptr<CurlSession>> session = CurlSession::Create(*curl);
  if (!session.ok()) return session.status();
  std::unique_ptr<HttpTransport> transport(new HttpTransport(*curl, std::move(*session), form));
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (!signals[i].enabled) continue;
    absl::StatusOr<std::unique_ptr<HttpPoster>> poster =
        HttpPoster::Create(*curl, transport->session_.get(), signals[i], form);
    if (!poster.ok()) {
      return absl::Status(poster.status().code(), absl::StrCat(kSignalNames[i], ": ", poster.status().message()));
    }
    transport->ways_[i] = {std::move(*poster), signals[i].gzip ? Gzip::kUntried : Gzip::kOff};
    transport->destinations_[i] = ShownUrl(signals[i].url);
  }
  return transport;
}

SendOutcome HttpTransport::Send(Signal signal, std::string_view body, RunnerClock::Time deadline) {
  Way* const way = &ways_[static_cast<size_t>(signal)];
  if (way->poster == nullptr) {
    SendOutcome outcome;
    outcome.kind = Kind::kUnsupported;
    outcome.message = "this signal is switched off";
    return outcome;
  }
  return way->gzip == Gzip::kOff ? SendPlain(way, signal, body, deadline)
                                 : SendCompressed(way, signal, body, deadline);
}

SendOutcome HttpTransport::SendPlain(Way* way, Signal signal, std::string_view body, RunnerClock::Time deadline) {
  return Judge(*curl_, way->poster->Post(body, false, deadline), signal, form_);
}

SendOutcome HttpTransport::SendCompressed(Way* way, Signal signal, std::string_view body,
                                          RunnerClock::Time deadline) {
  const std::optional<std::string_view> compressed = gzip_body_.Compress(body);
  if (!compressed.has_value()) return SendPlain(way, signal, body, deadline);  // no memory, this time
  const HttpReply& reply = way->poster->Post(*compressed, true, deadline);
  SendOutcome outcome = Judge(*curl_, reply, signal, form_);
  if (outcome.kind == Kind::kDelivered) way->gzip = Gzip::kTaken;
  if (way->gzip == Gzip::kTaken || !MayRefuseGzip(reply, outcome)) return outcome;

  SendOutcome plain = SendPlain(way, signal, body, deadline);
  if (plain.kind == Kind::kDelivered) {
    way->gzip = Gzip::kOff;
    plain.message = absl::StrCat("the receiver refuses gzip (", outcome.message, "): nothing is compressed any more",
                                 plain.message.empty() ? "" : "; ", plain.message);
  } else if (plain.kind != Kind::kRetryable) {
    way->gzip = Gzip::kTaken;  // it is not the compression that this receiver minds
  }
  return plain;
}

}  // namespace ferret::otlp
