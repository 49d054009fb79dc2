// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_outcome.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporters/otlp/replies/one_line.h"
#include "exporters/otlp/replies/reply_proto.h"

namespace ferret::otlp {
namespace {

enum Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kDeadlineExceeded = 4,
  kResourceExhausted = 8,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kUnavailable = 14,
  kDataLoss = 15,
};

constexpr const char* kNames[] = {
    "OK",           "CANCELLED",         "UNKNOWN",            "INVALID_ARGUMENT",    "DEADLINE_EXCEEDED",
    "NOT_FOUND",    "ALREADY_EXISTS",    "PERMISSION_DENIED",  "RESOURCE_EXHAUSTED",  "FAILED_PRECONDITION",
    "ABORTED",      "OUT_OF_RANGE",      "UNIMPLEMENTED",      "INTERNAL",            "UNAVAILABLE",
    "DATA_LOSS",    "UNAUTHENTICATED",
};

std::string_view View(const ferret_otlp_grpc_bytes& bytes) {
  return bytes.size == 0 ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

// "gRPC UNAVAILABLE: overloaded"
std::string Describe(int32_t code, std::string_view text) {
  const bool known = code >= 0 && code < static_cast<int32_t>(std::size(kNames));
  std::string described = known ? absl::StrCat("gRPC ", kNames[code]) : absl::StrCat("gRPC status ", code);
  if (const std::string line = OneLine(text, kMostMessageBytes); !line.empty()) absl::StrAppend(&described, ": ", line);
  return described;
}

SendOutcome Delivered(std::string_view reply) {
  SendOutcome result;
  const std::optional<PartialSuccess> partial = ReadPartialSuccess(reply);
  if (!partial) {
    result.message = "the receiver's answer is not OTLP";
    return result;
  }
  result.rejected = partial->rejected;
  result.message = OneLine(partial->message, kMostMessageBytes);
  return result;
}

// Of OUT_OF_RANGE, which is a passing state to OTLP, but also what receivers written with Rust's tonic say of a request
// above their limit ("message length too large: found 5000000 bytes, the limit is: 4194304 bytes"). Sent again as it is,
// such a request would come back for ever.
bool IsAboutSize(std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  return absl::StrContains(view, "too large") || absl::StrContains(view, "larger than");
}

}  // namespace

SendOutcome ReadGrpcOutcome(Signal signal, const ferret_otlp_grpc_outcome& outcome) {
  if (outcome.code == kOk) return Delivered(View(outcome.reply));
  using Kind = SendOutcome::Kind;
  SendOutcome result;
  result.kind = Kind::kRefused;
  result.message = Describe(outcome.code, View(outcome.message));
  std::optional<absl::Duration> retry_after;
  if (const auto status = ReadRpcStatus(View(outcome.details))) retry_after = status->retry_delay;
  if (retry_after) retry_after = std::min(*retry_after, kLongestRetryAfter);
  switch (outcome.code) {
    case kCancelled:
    case kDeadlineExceeded:
    case kAborted:
    case kUnavailable:
    case kDataLoss:
      result.kind = Kind::kRetryable;
      break;
    case kOutOfRange:
      result.kind = IsAboutSize(View(outcome.message)) ? Kind::kTooLarge : Kind::kRetryable;
      break;
    case kResourceExhausted:
      // A reply above our limit came after the request was taken: neither parts of it nor all of it go out again.
      if (!outcome.reply_too_large) result.kind = retry_after ? Kind::kRetryable : Kind::kTooLarge;
      break;
    case kUnimplemented:
      if (signal == Signal::kMetrics) result.kind = Kind::kUnsupported;
      break;
    default:
      break;
  }
  if (result.kind == Kind::kRetryable) result.retry_after = retry_after;
  return result;
}

}  // namespace ferret::otlp
