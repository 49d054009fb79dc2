// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What request_split.cc asks of a form: a walk over a request's spans or metrics that can leave some of them out.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_WALK_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_WALK_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/otlp/transport.h"

namespace ferret::otlp {

// Pieces are spans or metrics, numbered in their order; those in [from, to) are kept.
struct PieceWalk {
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;
  uint64_t pieces = 0;  // seen so far
  uint64_t items = 0;   // spans or data points of those that were kept

  bool Keeps() const { return pieces >= from && pieces < to; }
};

// Appends the request with what is kept to `out`, unless that is null; what holds nothing is left out with its head.
// False if the request cannot be followed: what was written is then of no use.
bool WalkProtobuf(Signal signal, std::string_view body, PieceWalk* walk, std::string* out);
bool WalkJson(Signal signal, std::string_view body, PieceWalk* walk, std::string* out);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_REQUEST_WALK_H_
