// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <string_view>

#include "exporters/otlp/delivery/request_walk.h"
#include "exporters/otlp/spans/wire.h"
#include "exporters/otlp/spans/wire_reader.h"

namespace ferret::otlp {
namespace {

void AppendField(uint32_t number, std::string_view inside, std::string* out) {
  char head[1 + kMaxVarintBytes];
  head[0] = Tag(number, kBytes);
  out->append(head, static_cast<size_t>(PutVarint(head + 1, inside.size()) - head));
  out->append(inside);
}

// Calls `take` with each field; false if it or a field is.
template <typename Take>
bool ForEachField(std::string_view message, const Take& take) {
  WireReader field(message);
  while (field.Next()) {
    if (!take(field)) return false;
  }
  return field.ok();
}

// gauge, sum, histogram, exponential_histogram, summary: their points are field 1 in all of them.
bool HasPoints(uint32_t number) {
  return number == 5 || number == 7 || number == 9 || number == 10 || number == 11;
}

bool CountPoints(std::string_view metric, uint64_t* points) {
  return ForEachField(metric, [&](const WireReader& field) {
    if (!HasPoints(field.field()) || field.type() != kBytes) return true;
    return ForEachField(field.bytes(), [&](const WireReader& point) {
      if (point.field() == 1 && point.type() == kBytes) ++*points;
      return true;
    });
  });
}

// Of a request, of what belongs to a resource, and of what belongs to a scope: the field with what is one level further
// down. The numbers are the same for both signals.
constexpr uint32_t kDown[] = {1, 2, 2};
constexpr size_t kLevels = 3;

bool Cut(Signal signal, std::string_view message, size_t level, PieceWalk* walk, std::string* out) {
  return ForEachField(message, [&](const WireReader& field) {
    if (field.field() != kDown[level] || field.type() != kBytes) {
      if (out != nullptr) out->append(field.whole());
      return true;
    }
    if (level + 1 < kLevels) {
      const uint64_t before = walk->pieces;
      std::string inside;
      if (!Cut(signal, field.bytes(), level + 1, walk, out == nullptr ? nullptr : &inside)) return false;
      const bool holds = before < walk->to && walk->pieces > walk->from && walk->pieces > before;
      if (out != nullptr && holds) AppendField(field.field(), inside, out);
      return true;
    }
    if (walk->Keeps()) {
      uint64_t items = 1;
      if (signal == Signal::kMetrics) {
        items = 0;
        if (!CountPoints(field.bytes(), &items)) return false;
      }
      walk->items += items;
      if (out != nullptr) out->append(field.whole());
    }
    ++walk->pieces;
    return true;
  });
}

}  // namespace

bool WalkProtobuf(Signal signal, std::string_view body, PieceWalk* walk, std::string* out) {
  return Cut(signal, body, 0, walk, out);
}

}  // namespace ferret::otlp
