// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/response_proto.h"

#include <algorithm>

#include "exporters/otlp/spans/wire.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

constexpr size_t kMostLineBytes = 400;
// Protobuf's own bound of a Duration: ten thousand years.
constexpr int64_t kMostSeconds = 315'576'000'000;

struct Field {
  uint64_t number = 0;
  WireType type = kVarint;
  uint64_t value = 0;      // of kVarint
  std::string_view bytes;  // of kBytes
};

// Takes fields off the front of a message until it ends or makes no sense.
class FieldReader {
 public:
  explicit FieldReader(std::string_view rest) : rest_(rest) {}

  // False at the end, and at bytes that are no field: see ok().
  bool Next(Field* field) {
    if (!ok_ || rest_.empty()) return false;
    ok_ = ReadField(field);
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  bool ReadField(Field* field) {
    uint64_t tag;
    if (!ReadVarint(&tag)) return false;
    field->number = tag >> 3;
    field->type = static_cast<WireType>(tag & 7);
    if (field->number == 0 || tag > UINT32_MAX) return false;
    switch (field->type) {
      case kVarint:
        return ReadVarint(&field->value);
      case kFixed64:
        return Skip(8);
      case kFixed32:
        return Skip(4);
      case kBytes: {
        uint64_t size;
        if (!ReadVarint(&size) || size > rest_.size()) return false;
        field->bytes = rest_.substr(0, size);
        return Skip(size);
      }
    }
    return false;  // groups, which proto3 does not have, and the two types that nobody has
  }

  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (size_t i = 0; i < std::min(rest_.size(), kMaxVarintBytes); ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      if (i == kMaxVarintBytes - 1 && byte > 1) return false;  // more than 64 bits
      *value |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) return Skip(i + 1);
    }
    return false;
  }

  bool Skip(size_t bytes) {
    if (bytes > rest_.size()) return false;
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// google.protobuf.Duration
std::optional<absl::Duration> ReadDuration(std::string_view bytes) {
  int64_t seconds = 0;
  int32_t nanos = 0;
  Field field;
  FieldReader reader(bytes);
  while (reader.Next(&field)) {
    if (field.type != kVarint) continue;
    if (field.number == 1) seconds = static_cast<int64_t>(field.value);
    if (field.number == 2) nanos = static_cast<int32_t>(field.value);
  }
  if (!reader.ok()) return std::nullopt;
  const absl::Duration duration =
      absl::Seconds(std::clamp(seconds, -kMostSeconds, kMostSeconds)) + absl::Nanoseconds(nanos);
  return std::max(duration, absl::ZeroDuration());
}

// google.rpc.RetryInfo. One without a delay says "again, whenever you like".
std::optional<absl::Duration> ReadRetryInfo(std::string_view bytes) {
  std::optional<absl::Duration> delay = absl::ZeroDuration();
  Field field;
  FieldReader reader(bytes);
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytes) delay = ReadDuration(field.bytes);
  }
  return reader.ok() ? delay : std::nullopt;
}

// google.protobuf.Any: the delay if it holds a RetryInfo. What stands before the last slash is the host of a registry.
std::optional<absl::Duration> ReadDetail(std::string_view bytes) {
  std::string_view type;
  std::string_view value;
  Field field;
  FieldReader reader(bytes);
  while (reader.Next(&field)) {
    if (field.type != kBytes) continue;
    if (field.number == 1) type = field.bytes;
    if (field.number == 2) value = field.bytes;
  }
  const size_t slash = type.rfind('/');
  if (!reader.ok() || slash == type.npos || type.substr(slash + 1) != "google.rpc.RetryInfo") return std::nullopt;
  return ReadRetryInfo(value);
}

}  // namespace

std::optional<PartialSuccess> ReadPartialSuccess(std::string_view bytes) {
  PartialSuccess result;
  Field outer;
  FieldReader response(bytes);
  while (response.Next(&outer)) {
    if (outer.number != 1 || outer.type != kBytes) continue;
    Field field;
    FieldReader partial(outer.bytes);
    while (partial.Next(&field)) {
      if (field.number == 1 && field.type == kVarint) {
        const auto rejected = static_cast<int64_t>(field.value);
        result.rejected = rejected > 0 ? static_cast<uint64_t>(rejected) : 0;
      }
      if (field.number == 2 && field.type == kBytes) result.message = std::string(field.bytes);
    }
    if (!partial.ok()) return std::nullopt;
  }
  if (!response.ok()) return std::nullopt;
  return result;
}

std::optional<RpcStatus> ReadRpcStatus(std::string_view bytes) {
  RpcStatus status;
  Field field;
  FieldReader reader(bytes);
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kVarint) status.code = static_cast<int32_t>(field.value);
    if (field.type != kBytes) continue;
    if (field.number == 2) status.message = std::string(field.bytes);
    if (field.number == 3 && !status.retry_delay) status.retry_delay = ReadDetail(field.bytes);
  }
  if (!reader.ok()) return std::nullopt;
  return status;
}

std::string OneLine(std::string_view text) {
  std::string line;
  AppendUtf8(text.substr(0, kMostLineBytes), &line);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace ferret::otlp
