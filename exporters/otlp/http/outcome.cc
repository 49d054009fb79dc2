// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/outcome.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "exporters/otlp/http/reply_message.h"
#include "exporters/otlp/replies/one_line.h"

namespace ferret::otlp {
namespace {

using End = HttpReply::End;
using Kind = SendOutcome::Kind;

bool Mentions(const std::string& text, const char* lower_case) {
  return absl::StrContains(absl::AsciiStrToLower(text), lower_case);
}

// The receiver's own word for the encoding of its reply; where it has none, that of the request.
std::optional<Form> FormOf(const HttpReply& reply, Form form) {
  if (reply.content_type.empty()) return form;
  if (Mentions(reply.content_type, "json")) return Form::kJson;
  if (Mentions(reply.content_type, "protobuf")) return Form::kProtobuf;
  return std::nullopt;
}

// What a reply says for people; empty if nothing.
std::string TextOf(const HttpReply& reply, Form form) {
  if (Mentions(reply.content_type, "html")) return "";
  const std::optional<Form> encoded = FormOf(reply, form);
  if (encoded.has_value()) {
    if (std::optional<std::string> message = ParseStatusMessage(*encoded, reply.body)) {
      return OneLine(*message, kMostMessageBytes);
    }
  }
  return OneLine(reply.body, kMostMessageBytes);
}

SendOutcome Delivered(const HttpReply& reply, Form form) {
  SendOutcome outcome;
  const std::string done = absl::StrCat("HTTP ", reply.status);
  if (reply.end != End::kComplete) {
    outcome.message = absl::StrCat(done, ", but its reply was cut short");
    return outcome;
  }
  const std::optional<Form> encoded = FormOf(reply, form);
  std::optional<PartialSuccess> partial;
  if (encoded.has_value()) partial = ParseExportResponse(*encoded, reply.body);
  // Receivers that answer JSON with nothing mean the same as those of protobuf.
  if (!partial.has_value() && reply.body.empty()) partial.emplace();
  if (!partial.has_value()) {
    outcome.message = absl::StrCat(done, ", but its reply is not understood: ", OneLine(reply.body, 64));
    return outcome;
  }
  outcome.rejected = partial->rejected;
  outcome.message = OneLine(partial->message, kMostMessageBytes);
  return outcome;
}

Kind KindOf(int status, const std::string& text, Signal signal) {
  switch (status) {
    case 429:
    case 502:
    case 503:
    case 504: return Kind::kRetryable;
    case 413: return Kind::kTooLarge;
    // As the Collector says it.
    case 400: return Mentions(text, "too large") ? Kind::kTooLarge : Kind::kRefused;
    case 404: return signal == Signal::kMetrics ? Kind::kUnsupported : Kind::kRefused;
    default: return Kind::kRefused;
  }
}

SendOutcome ByStatus(const CurlTable& curl, const HttpReply& reply, Signal signal, Form form) {
  if (reply.status < 300) return Delivered(reply, form);
  SendOutcome outcome;
  const std::string text = TextOf(reply, form);
  outcome.kind = KindOf(reply.status, text, signal);
  outcome.message = absl::StrCat("HTTP ", reply.status);
  if (reply.status < 400) absl::StrAppend(&outcome.message, ", a redirect, which is not followed");
  if (!text.empty()) absl::StrAppend(&outcome.message, ": ", text);
  if (outcome.kind == Kind::kRetryable) outcome.retry_after = ParseRetryAfter(curl, reply.retry_after, absl::Now());
  return outcome;
}

// Whether an exchange that failed so would fail for ever.
bool IsFinal(const HttpReply& reply) {
  switch (reply.code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_WEIRD_SERVER_REPLY:  // not HTTP
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return true;
    // The peer hung up, or OpenSSL says in what the two sides do not agree: a certificate is wanted, the other side
    // speaks no TLS. Only its text tells these apart.
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return absl::StrContains(reply.error, "SSL routines") && !absl::StrContains(reply.error, "unexpected eof");
    default: return false;
  }
}

SendOutcome Failed(const HttpReply& reply, Signal signal) {
  SendOutcome outcome;
  outcome.kind = IsFinal(reply) ? Kind::kRefused : Kind::kRetryable;
  outcome.message = reply.error.empty() ? "the receiver hung up within the headers of its reply"
                                        : OneLine(reply.error, kMostMessageBytes);
  if (reply.proxy_status >= 300) {
    outcome.kind = KindOf(reply.proxy_status, "", signal);
    if (outcome.kind != Kind::kRetryable) outcome.kind = Kind::kRefused;
    outcome.message = absl::StrCat("the proxy answers HTTP ", reply.proxy_status);
  }
  return outcome;
}

SendOutcome Simply(Kind kind, std::string message) {
  SendOutcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace

std::optional<absl::Duration> ParseRetryAfter(const CurlTable& curl, const std::string& text, absl::Time now) {
  if (text.empty()) return std::nullopt;
  if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit)) {
    int64_t seconds = 0;
    if (!absl::SimpleAtoi(text, &seconds)) return kLongestRetryAfter;  // more than fits
    return std::min(absl::Seconds(seconds), kLongestRetryAfter);
  }
  const time_t date = curl.getdate(text.c_str(), nullptr);
  if (date == -1) return std::nullopt;
  return std::clamp(absl::FromTimeT(date) - now, absl::ZeroDuration(), kLongestRetryAfter);
}

SendOutcome Judge(const CurlTable& curl, const HttpReply& reply, Signal signal, Form form) {
  if (reply.end == End::kTooLarge) {
    return Simply(Kind::kRefused, absl::StrCat(reply.status == 0 ? "a reply" : absl::StrCat("HTTP ", reply.status),
                                               " that is larger than ", HttpReply::kMostBodyBytes >> 20, " MiB"));
  }
  if (reply.status != 0) return ByStatus(curl, reply, signal, form);
  switch (reply.end) {
    case End::kDeadline: return Simply(Kind::kRetryable, "no reply in time");
    case End::kCancelled: return Simply(Kind::kRetryable, "cancelled");
    default: return Failed(reply, signal);
  }
}

}  // namespace ferret::otlp
