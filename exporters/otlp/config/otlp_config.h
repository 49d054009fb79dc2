// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OtlpConfig: everything that FERRET_EXPORT's parameters and the OTEL_* variables say of an `otlp` exporter, read once.
//
// A parameter goes before a variable, a variable of one signal before the one for all. A bad parameter is an error; a bad
// variable is one warning and is ignored.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_OTLP_CONFIG_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_OTLP_CONFIG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/transport.h"
#include "runtime/export/export_spec.h"

namespace ferret::otlp {

enum class Protocol : uint8_t { kHttpProtobuf, kHttpJson, kGrpc };

// How one signal is sent.
struct SignalConfig {
  bool enabled = true;  // OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER
  Protocol protocol = Protocol::kHttpProtobuf;
  std::string url;  // HTTP: to post to. gRPC: as it was given, with or without a scheme
  std::vector<std::pair<std::string, std::string>> headers;  // decoded
  absl::Duration timeout = absl::Seconds(10);  // of one request with all its retries; infinite if none
  bool gzip = false;
  // PEM files; empty for none.
  std::string ca_file;
  std::string client_key_file;
  std::string client_certificate_file;
  bool insecure = false;  // gRPC, and only if the endpoint has no scheme
};

// A span of another process that this run belongs to: TRACEPARENT and TRACESTATE.
struct RemoteContext {
  TraceId trace_id{};
  SpanId span_id = 0;
  uint8_t flags = 0;
  std::string state;
};

// What is sent of the operators and kernels; steps, phases and histograms always are.
enum class Detail : uint8_t { kNone, kSampled, kAll };

struct SamplingConfig {
  Detail detail = Detail::kSampled;
  int64_t every = 100;  // every so many steps; 0: none for this reason
  int64_t first_step = 0;  // steps of this window; empty if last_step < first_step
  int64_t last_step = -1;
  double slow = 1.5;  // steps that took so many times the running median; 0: none for this reason
  uint64_t held_bytes = uint64_t{64} << 20;  // detail of a step that is not decided yet
};

struct DeliveryConfig {
  uint64_t queue_bytes = uint64_t{64} << 20;  // requests that wait; what comes on top is lost
  size_t batch_spans = 8000;
  size_t batch_bytes = size_t{7} << 19;  // 3.5 MiB: receivers take 4
  absl::Duration schedule_delay = absl::Seconds(1);   // OTEL_BSP_SCHEDULE_DELAY
  std::string spill_directory;  // empty: nothing is kept on disk
  uint64_t spill_bytes = uint64_t{1} << 30;
};

struct OtlpConfig {
  std::array<SignalConfig, kSignalCount> signals;  // by Signal
  SamplingConfig sampling;
  DeliveryConfig delivery;
  absl::Duration metric_interval = absl::Seconds(60);  // OTEL_METRIC_EXPORT_INTERVAL
  bool link_kernels = false;  // launch=link: kernels are under their step, with a link to the launching scope
  size_t most_events = 128;      // of a span, at least 1 and no more than this: OTEL_SPAN_EVENT_COUNT_LIMIT
  size_t most_attributes = 128;  // OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT
  std::optional<size_t> most_value_chars;  // OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT
  std::optional<RemoteContext> remote;
  ResourceEnvironment resource;
  std::vector<std::string> warnings;  // one line each, to be shown at Open
};

// An error is about a parameter, and names it. An exporter passes ProcessEnvironment().
absl::StatusOr<OtlpConfig> ReadOtlpConfig(const ExporterSpec& spec, const GetEnv& getenv);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_OTLP_CONFIG_H_
