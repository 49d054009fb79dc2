// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is found wrong with a signal's configuration before anything is sent.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_SIGNAL_CHECKS_H_
#define FERRET_EXPORTERS_OTLP_HTTP_SIGNAL_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/config/otlp_config.h"

namespace ferret::otlp {

// The URL is an http or https one, headers are none that could end a line or contradict the exporter's own, the files
// of an https one can be read. Never shows a header's value or a URL's password.
absl::Status CheckSignal(const CurlTable& curl, const SignalConfig& config);

// As libcurl wants it, of a header that passed.
std::string HeaderLine(const std::string& name, const std::string& value);

// For people: without user, password, query and fragment, any of which may be a secret.
std::string ShownUrl(const std::string& url);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_SIGNAL_CHECKS_H_
