// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/replies/reply_proto.h"

#include <algorithm>

#include "exporters/otlp/spans/wire_reader.h"

namespace ferret::otlp {
namespace {

// Protobuf's own bound of a Duration: ten thousand years.
constexpr int64_t kMostSeconds = 315'576'000'000;

// google.protobuf.Duration
std::optional<absl::Duration> ReadDuration(std::string_view bytes) {
  int64_t seconds = 0;
  int32_t nanos = 0;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.type() != kVarint) continue;
    if (reader.field() == 1) seconds = static_cast<int64_t>(reader.number());
    if (reader.field() == 2) nanos = static_cast<int32_t>(reader.number());
  }
  if (!reader.ok()) return std::nullopt;
  const absl::Duration duration =
      absl::Seconds(std::clamp(seconds, -kMostSeconds, kMostSeconds)) + absl::Nanoseconds(nanos);
  return std::max(duration, absl::ZeroDuration());
}

// google.rpc.RetryInfo. One without a delay says "again, whenever you like".
std::optional<absl::Duration> ReadRetryInfo(std::string_view bytes) {
  std::optional<absl::Duration> delay = absl::ZeroDuration();
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.type() == kBytes) delay = ReadDuration(reader.bytes());
  }
  return reader.ok() ? delay : std::nullopt;
}

// google.protobuf.Any: the delay if it holds a RetryInfo. What stands before the last slash is the host of a registry.
std::optional<absl::Duration> ReadDetail(std::string_view bytes) {
  std::string_view type;
  std::string_view value;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.type() != kBytes) continue;
    if (reader.field() == 1) type = reader.bytes();
    if (reader.field() == 2) value = reader.bytes();
  }
  const size_t slash = type.rfind('/');
  if (!reader.ok() || slash == type.npos || type.substr(slash + 1) != "google.rpc.RetryInfo") return std::nullopt;
  return ReadRetryInfo(value);
}

}  // namespace

std::optional<PartialSuccess> ReadPartialSuccess(std::string_view bytes) {
  PartialSuccess result;
  WireReader response(bytes);
  while (response.Next()) {
    if (response.field() != 1 || response.type() != kBytes) continue;
    WireReader partial(response.bytes());
    while (partial.Next()) {
      if (partial.field() == 1 && partial.type() == kVarint) {
        const auto rejected = static_cast<int64_t>(partial.number());
        result.rejected = rejected > 0 ? static_cast<uint64_t>(rejected) : 0;
      }
      if (partial.field() == 2 && partial.type() == kBytes) result.message = std::string(partial.bytes());
    }
    if (!partial.ok()) return std::nullopt;
  }
  if (!response.ok()) return std::nullopt;
  return result;
}

std::optional<RpcStatus> ReadRpcStatus(std::string_view bytes) {
  RpcStatus status;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.type() == kVarint) status.code = static_cast<int32_t>(reader.number());
    if (reader.type() != kBytes) continue;
    if (reader.field() == 2) status.message = std::string(reader.bytes());
    if (reader.field() == 3 && !status.retry_delay) status.retry_delay = ReadDetail(reader.bytes());
  }
  if (!reader.ok()) return std::nullopt;
  return status;
}

}  // namespace ferret::otlp
