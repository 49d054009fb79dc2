// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/header_list.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporters/otlp/resource/percent_decoding.h"

namespace ferret::otlp {
namespace {

// They say how the body is sent, which is the transport's to say.
constexpr absl::string_view kOwnKeys[] = {"connection",     "content-encoding",  "content-length", "content-type",
                                          "expect",         "te",                "transfer-encoding"};

// RFC 9110's token.
bool IsKey(absl::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || (c != '\0' && absl::StrContains("!#$%&'*+-.^_`|~", c));
  });
}

bool IsValue(const std::string& value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t';
  });
}

absl::Status Bad(size_t number, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("header ", number, " ", reason, "; allowed is key=value,key=value with values percent-encoded"));
}

}  // namespace

absl::StatusOr<Headers> ParseHeaders(std::string_view text) {
  Headers headers;
  size_t number = 0;
  for (absl::string_view entry : absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    ++number;
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos) return Bad(number, "is not key=value");
    const absl::string_view key = absl::StripAsciiWhitespace(entry.substr(0, equals));
    const absl::string_view raw = absl::StripAsciiWhitespace(entry.substr(equals + 1));
    if (!IsKey(key)) return Bad(number, "has a key that no header can have");
    if (std::find(std::begin(kOwnKeys), std::end(kOwnKeys), absl::AsciiStrToLower(key)) != std::end(kOwnKeys)) {
      return Bad(number, absl::StrCat("is ", key, ", which is Ferret's to set"));
    }
    if (absl::StrContains(raw, ';')) return Bad(number, "has a ';', where properties are not known and a value has %3B");
    const std::optional<std::string> value = PercentDecode({raw.data(), raw.size()});
    if (!value.has_value()) return Bad(number, "has a % without two hex digits behind it");
    if (!IsValue(*value)) return Bad(number, "has a control character in its value");
    const auto known = std::find_if(headers.begin(), headers.end(),
                                    [&](const auto& header) { return absl::EqualsIgnoreCase(header.first, key); });
    if (known != headers.end()) headers.erase(known);
    headers.emplace_back(std::string(key), *value);
  }
  return headers;
}

absl::StatusOr<Headers> GrpcHeaders(const Headers& headers) {
  Headers lower;
  for (const auto& [key, value] : headers) {
    lower.emplace_back(absl::AsciiStrToLower(key), value);
    const bool is_key = std::all_of(key.begin(), key.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    });
    if (!is_key || absl::StartsWith(lower.back().first, "grpc-")) {
      return Bad(lower.size(), "has a key that gRPC does not take");
    }
    const bool is_text = std::all_of(value.begin(), value.end(),
                                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
    if (!is_text && !absl::EndsWith(lower.back().first, "-bin")) {
      return Bad(lower.size(), "has a value that gRPC does not take: not printable ASCII");
    }
  }
  return lower;
}

}  // namespace ferret::otlp
