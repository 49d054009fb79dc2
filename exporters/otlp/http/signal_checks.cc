// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/signal_checks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/replies/one_line.h"

namespace ferret::otlp {
namespace {

// Those that say what the body is and how it is carried.
constexpr absl::string_view kOwnHeaders[] = {"accept-encoding", "connection",     "content-encoding", "content-length",
                                            "content-type",    "expect",         "transfer-encoding"};

bool IsToken(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || (c != '\0' && std::strchr("!#$%&'*+-.^_`|~", c) != nullptr);
  });
}

bool HasControl(const std::string& value) {
  return std::any_of(value.begin(), value.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

absl::Status CheckHeader(const std::string& name, const std::string& value) {
  const std::string shown = OneLine(name, 64);
  if (!IsToken(name)) return absl::InvalidArgumentError(absl::StrCat("'", shown, "' is not a header's name"));
  if (HasControl(value)) {
    return absl::InvalidArgumentError(absl::StrCat("the value of header ", shown, " has a control character in it"));
  }
  for (const absl::string_view own : kOwnHeaders) {
    if (absl::EqualsIgnoreCase(name, own)) {
      return absl::InvalidArgumentError(absl::StrCat("header ", shown, " cannot be chosen: the exporter sets it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFile(const char* what, const std::string& file) {
  if (file.empty()) return absl::OkStatus();
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the ", what, " ", file, ": ", std::strerror(errno)));
  }
  close(opened);
  return absl::OkStatus();
}

absl::Status CheckUrl(const CurlTable& curl, const std::string& url) {
  const auto bad = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("'", ShownUrl(url), "' is no URL to send to: ", why));
  };
  if (url.find('\0') != url.npos || HasControl(url)) return bad("it has a control character in it");
  CURLU* const parsed = curl.url();
  if (parsed == nullptr) return absl::ResourceExhaustedError("libcurl has no memory");
  const bool taken = curl.url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  char* scheme = nullptr;
  const bool web = taken && curl.url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                   (absl::EqualsIgnoreCase(scheme, "http") || absl::EqualsIgnoreCase(scheme, "https"));
  curl.free(scheme);
  curl.url_cleanup(parsed);
  return web ? absl::OkStatus() : bad("it must be like http://host:4318/v1/traces, or the same with https");
}

}  // namespace

absl::Status CheckSignal(const CurlTable& curl, const SignalConfig& config) {
  if (absl::Status status = CheckUrl(curl, config.url); !status.ok()) return status;
  for (const auto& [name, value] : config.headers) {
    if (absl::Status status = CheckHeader(name, value); !status.ok()) return status;
  }
  // What belongs to TLS means nothing to a plain connection: the variables may be there for somebody else.
  if (!absl::StartsWithIgnoreCase(config.url, "https:")) return absl::OkStatus();
  if (!config.client_key_file.empty() && config.client_certificate_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is a client key, ", config.client_key_file, ", but no client certificate"));
  }
  absl::Status status = CheckFile("CA file", config.ca_file);
  status.Update(CheckFile("client certificate", config.client_certificate_file));
  status.Update(CheckFile("client key", config.client_key_file));
  return status;
}

std::string HeaderLine(const std::string& name, const std::string& value) {
  const absl::string_view text = absl::StripAsciiWhitespace(value);
  // "Name:" alone would take the header away.
  return text.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", text);
}

std::string ShownUrl(const std::string& url) {
  absl::string_view rest = absl::string_view(url).substr(0, url.find_first_of("?#"));
  absl::string_view scheme;
  if (const size_t colon = rest.find("://"); colon != rest.npos) {
    scheme = rest.substr(0, colon + 3);
    rest.remove_prefix(scheme.size());
  }
  if (const size_t at = rest.substr(0, rest.find('/')).rfind('@'); at != rest.npos) rest.remove_prefix(at + 1);
  return OneLine(absl::StrCat(scheme, rest), 256);
}

}  // namespace ferret::otlp
