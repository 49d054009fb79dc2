// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a receiver answers, read from protobuf: Export…ServiceResponse, and the google.rpc.Status of a refusal.
//
// The bytes come from the network: nothing is believed of a length, and unknown fields are skipped.

#ifndef FERRET_EXPORTERS_OTLP_REPLIES_REPLY_PROTO_H_
#define FERRET_EXPORTERS_OTLP_REPLIES_REPLY_PROTO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace ferret::otlp {

struct PartialSuccess {
  uint64_t rejected = 0;  // spans, or data points
  std::string message;    // as it was sent: see OneLine
};

struct RpcStatus {
  int32_t code = 0;  // of google.rpc.Code
  std::string message;
  std::optional<absl::Duration> retry_delay;  // of a RetryInfo among the details; never negative
};

// Of ExportTraceServiceResponse and ExportMetricsServiceResponse, which agree in this. Without a partial_success, and so
// for no bytes at all, everything was taken. Null if the bytes are not protobuf.
std::optional<PartialSuccess> ReadPartialSuccess(std::string_view bytes);

// Null if the bytes are not protobuf. A detail that cannot be read is as good as none.
std::optional<RpcStatus> ReadRpcStatus(std::string_view bytes);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_REPLIES_REPLY_PROTO_H_
