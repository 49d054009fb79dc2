// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>

#include "exporters/otlp/delivery/request_walk.h"
#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {
namespace {

struct Field {
  uint64_t number = 0;
  bool bytes = false;
  std::string_view whole;
  std::string_view inside;  // if `bytes`
};

std::optional<uint64_t> TakeVarint(std::string_view* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < from->size() && i < kMaxVarintBytes; ++i) {
    const uint8_t byte = static_cast<uint8_t>((*from)[i]);
    value |= uint64_t{byte & 0x7fu} << 7 * i;
    if (byte < 0x80) {
      from->remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<Field> TakeField(std::string_view* from) {
  const std::string_view before = *from;
  const std::optional<uint64_t> tag = TakeVarint(from);
  if (!tag.has_value() || *tag >> 3 == 0) return std::nullopt;
  Field field;
  field.number = *tag >> 3;
  uint64_t size = 0;
  switch (*tag & 7) {
    case kVarint:
      if (!TakeVarint(from).has_value()) return std::nullopt;
      break;
    case kFixed64: size = 8; break;
    case kFixed32: size = 4; break;
    case kBytes: {
      const std::optional<uint64_t> length = TakeVarint(from);
      if (!length.has_value()) return std::nullopt;
      size = *length;
      field.bytes = true;
      break;
    }
    default: return std::nullopt;  // groups, which OTLP has none of
  }
  if (size > from->size()) return std::nullopt;
  field.inside = from->substr(0, size);
  from->remove_prefix(size);
  field.whole = before.substr(0, before.size() - from->size());
  return field;
}

void AppendField(uint64_t number, std::string_view inside, std::string* out) {
  char head[1 + kMaxVarintBytes];
  head[0] = Tag(static_cast<uint32_t>(number), kBytes);
  out->append(head, static_cast<size_t>(PutVarint(head + 1, inside.size()) - head));
  out->append(inside);
}

// Calls `take` with each field; false if it or a field is.
template <typename Take>
bool ForEachField(std::string_view message, const Take& take) {
  while (!message.empty()) {
    const std::optional<Field> field = TakeField(&message);
    if (!field.has_value() || !take(*field)) return false;
  }
  return true;
}

// gauge, sum, histogram, exponential_histogram, summary: their points are field 1 in all of them.
bool HasPoints(uint64_t number) {
  return number == 5 || number == 7 || number == 9 || number == 10 || number == 11;
}

bool CountPoints(std::string_view metric, uint64_t* points) {
  return ForEachField(metric, [&](const Field& field) {
    if (!HasPoints(field.number) || !field.bytes) return true;
    return ForEachField(field.inside, [&](const Field& point) {
      if (point.number == 1 && point.bytes) ++*points;
      return true;
    });
  });
}

// Of a request, of what belongs to a resource, and of what belongs to a scope: the field with what is one level further
// down. The numbers are the same for both signals.
constexpr uint64_t kDown[] = {1, 2, 2};
constexpr size_t kLevels = 3;

bool Cut(Signal signal, std::string_view message, size_t level, PieceWalk* walk, std::string* out) {
  return ForEachField(message, [&](const Field& field) {
    if (field.number != kDown[level] || !field.bytes) {
      if (out != nullptr) out->append(field.whole);
      return true;
    }
    if (level + 1 < kLevels) {
      const uint64_t before = walk->pieces;
      std::string inside;
      if (!Cut(signal, field.inside, level + 1, walk, out == nullptr ? nullptr : &inside)) return false;
      const bool holds = before < walk->to && walk->pieces > walk->from && walk->pieces > before;
      if (out != nullptr && holds) AppendField(field.number, inside, out);
      return true;
    }
    if (walk->Keeps()) {
      uint64_t items = 1;
      if (signal == Signal::kMetrics) {
        items = 0;
        if (!CountPoints(field.inside, &items)) return false;
      }
      walk->items += items;
      if (out != nullptr) out->append(field.whole);
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
