// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A finished request, cut in two for a receiver that finds it too large.
//
// Spans are cut between spans, metrics between metrics, the first half of them here and the others there. Everything
// around them (resources, scopes, fields that this code does not know) is in both. A request that was made by somebody
// else may come in any shape: what cannot be followed cannot be split, and no shape is an error.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_SPLIT_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_SPLIT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/otlp/transport.h"

namespace ferret::otlp {

struct RequestPart {
  std::string body;
  uint64_t items = 0;  // spans, or data points
};

// Nothing if the request has fewer than two spans or metrics, or cannot be followed.
std::optional<std::array<RequestPart, 2>> SplitRequest(Signal signal, Form form, std::string_view body);

// Spans, or data points. Nothing if the request cannot be followed.
std::optional<uint64_t> CountItems(Signal signal, Form form, std::string_view body);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_SPLIT_H_
