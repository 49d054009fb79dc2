// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// %XX in the lists of OTEL_* variables.

#ifndef FERRET_EXPORTERS_OTLP_RESOURCE_PERCENT_DECODING_H_
#define FERRET_EXPORTERS_OTLP_RESOURCE_PERCENT_DECODING_H_

#include <optional>
#include <string>
#include <string_view>

namespace ferret::otlp {

// None if a % has no two hex digits behind it.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_RESOURCE_PERCENT_DECODING_H_
