// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_transport.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/grpc/grpc_config.h"
#include "exporters/otlp/grpc/grpc_library.h"
#include "exporters/otlp/grpc/grpc_outcome.h"
#include "exporters/otlp/spans/span.h"
#include "runtime/threads/background_thread.h"

namespace ferret::otlp {
namespace {

constexpr const char* kMethods[kSignalCount] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
};

ferret_otlp_grpc_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }

ferret_otlp_grpc_handle* OpenChannel(const ferret_otlp_grpc_api* api, const GrpcConfig& config, std::string* error) {
  const std::string user_agent = "OTel-OTLP-Exporter-Ferret/" + std::string(kVersion);
  std::vector<ferret_otlp_grpc_header> headers;
  for (const auto& [key, value] : config.headers) headers.push_back({Bytes(key), Bytes(value)});
  ferret_otlp_grpc_config plain{};
  plain.target = Bytes(config.endpoint.target);
  plain.user_agent = Bytes(user_agent);
  plain.tls = config.endpoint.tls;
  plain.gzip = config.gzip;
  plain.quiet = !HostHasGrpc();
  plain.ca = Bytes(config.ca);
  plain.client_key = Bytes(config.client_key);
  plain.client_certificate = Bytes(config.client_certificate);
  plain.headers = headers.data();
  plain.header_count = headers.size();
  char text[256] = "";
  ferret_otlp_grpc_handle* const handle = api->open(&plain, text, sizeof(text));
  *error = text;
  return handle;
}

}  // namespace

GrpcTransport::GrpcTransport(const ferret_otlp_grpc_api* api, RunnerClock* clock)
    : api_(api), clock_(clock), process_(getpid()) {}

absl::StatusOr<std::unique_ptr<GrpcTransport>> GrpcTransport::Open(const Signals& signals, RunnerClock* clock,
                                                                   const std::string& library) {
  // What is wrong with the settings is said first: it does not take the library to see it.
  std::array<std::optional<GrpcConfig>, kSignalCount> configs;
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (!signals[i].enabled || signals[i].protocol != Protocol::kGrpc) continue;
    absl::StatusOr<GrpcConfig> config = GrpcConfig::From(signals[i]);
    if (!config.ok()) return config.status();
    configs[i] = *std::move(config);
  }

  // The process that has had a channel: its child has gRPC's locks and none of its threads.
  static std::atomic<pid_t> user{0};
  pid_t nobody = 0;
  if (!user.compare_exchange_strong(nobody, getpid()) && nobody != getpid()) {
    return absl::FailedPreconditionError("gRPC does not outlive a fork: for forked children there is http/protobuf");
  }

  // The library's own threads, too, leave the host's signals to the host.
  const BlockSignalsForNewThread blocked;
  const absl::StatusOr<const ferret_otlp_grpc_api*> api = LoadGrpcLibrary(library);
  if (!api.ok()) return api.status();
  auto transport = absl::WrapUnique(new GrpcTransport(*api, clock));
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (!configs[i]) continue;
    transport->destinations_[i] = absl::StrCat(signals[i].url, " (gRPC)");
    for (size_t j = 0; j < i; ++j) {
      if (configs[j] && *configs[i] == *configs[j]) transport->handles_[i] = transport->handles_[j];
    }
    if (transport->handles_[i] != nullptr) continue;
    std::string error;
    transport->handles_[i] = OpenChannel(*api, *configs[i], &error);
    if (transport->handles_[i] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("gRPC endpoint \"", signals[i].url, "\": ", error));
    }
  }
  return transport;
}

GrpcTransport::~GrpcTransport() {
  if (getpid() != process_) return;
  for (size_t i = 0; i < kSignalCount; ++i) {
    const bool closed = std::find(handles_.begin(), handles_.begin() + i, handles_[i]) != handles_.begin() + i;
    if (handles_[i] != nullptr && !closed) api_->close(handles_[i]);
  }
}

SendOutcome GrpcTransport::Send(Signal signal, std::string_view body, RunnerClock::Time deadline) {
  SendOutcome result;
  ferret_otlp_grpc_handle* const handle = handles_[static_cast<size_t>(signal)];
  if (handle == nullptr || getpid() != process_) {
    result.kind = SendOutcome::Kind::kRefused;
    result.message = handle == nullptr ? "this signal does not go out over gRPC" : "gRPC is not for a forked process";
    return result;
  }
  // Further away than a year is never.
  const std::chrono::nanoseconds left = deadline - std::min(clock_->Now(), deadline);
  const int64_t timeout_ns = left > std::chrono::hours(24 * 365) ? -1 : left.count();
  const BlockSignalsForNewThread blocked;
  ferret_otlp_grpc_outcome outcome{};
  api_->send(handle, kMethods[static_cast<size_t>(signal)], Bytes(body), timeout_ns, &outcome);
  return ReadGrpcOutcome(signal, outcome);
}

void GrpcTransport::Cancel() {
  if (getpid() != process_) return;
  for (ferret_otlp_grpc_handle* const handle : handles_) {
    if (handle != nullptr) api_->cancel(handle);
  }
}

}  // namespace ferret::otlp
