// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an HttpReply means for the request.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_OUTCOME_H_
#define FERRET_EXPORTERS_OTLP_HTTP_OUTCOME_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/http_reply.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

// Once the headers of a reply were complete its status decides, even if the connection broke, or time ran out, in the body:
// what was taken is not to be sent twice.
SendOutcome Judge(const CurlTable& curl, const HttpReply& reply, Signal signal, Form form);

// Seconds or an HTTP date; no longer than an hour, whatever it says. Nothing if it is neither.
std::optional<absl::Duration> ParseRetryAfter(const CurlTable& curl, const std::string& text, absl::Time now);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_OUTCOME_H_
