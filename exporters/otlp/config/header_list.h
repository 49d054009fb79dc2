// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The header list of OTEL_EXPORTER_OTLP_HEADERS: key=value,key=value, values percent-decoded, spaces around them trimmed.
//
// What comes out can be put into a request as it is: no value holds a line end. Values are credentials, so no error shows
// one; nor does it show a key, which may be a value in the wrong place.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_HEADER_LIST_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_HEADER_LIST_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferret::otlp {

// Keys are unique, whatever their case; the last of a key counts.
using Headers = std::vector<std::pair<std::string, std::string>>;

// An error makes all of the list void.
absl::StatusOr<Headers> ParseHeaders(std::string_view text);

// gRPC wants lower-case keys, and less in keys and values than HTTP takes.
absl::StatusOr<Headers> GrpcHeaders(const Headers& headers);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_HEADER_LIST_H_
