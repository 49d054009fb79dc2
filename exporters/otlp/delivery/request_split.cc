// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/request_split.h"

#include "exporters/otlp/delivery/request_walk.h"

namespace ferret::otlp {
namespace {

bool Walk(Signal signal, Form form, std::string_view body, PieceWalk* walk, std::string* out) {
  return form == Form::kProtobuf ? WalkProtobuf(signal, body, walk, out) : WalkJson(signal, body, walk, out);
}

}  // namespace

std::optional<std::array<RequestPart, 2>> SplitRequest(Signal signal, Form form, std::string_view body) {
  PieceWalk all;
  if (!Walk(signal, form, body, &all, nullptr) || all.pieces < 2) return std::nullopt;
  const uint64_t middle = all.pieces / 2;
  std::array<RequestPart, 2> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    PieceWalk walk;
    if (i == 0) walk.to = middle;
    if (i == 1) walk.from = middle;
    parts[i].body.reserve(body.size() / 2);
    if (!Walk(signal, form, body, &walk, &parts[i].body)) return std::nullopt;
    parts[i].items = walk.items;
  }
  return parts;
}

std::optional<uint64_t> CountItems(Signal signal, Form form, std::string_view body) {
  PieceWalk all;
  if (!Walk(signal, form, body, &all, nullptr)) return std::nullopt;
  return all.items;
}

}  // namespace ferret::otlp
