// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// HealthMetrics: what the recording and the exporter itself lost, sent and hold, as metrics.
//
// The counts that are given are those since the session began; what is told is how much they grew since the last time.
//
//     for each interval: RecordOperation…, Collect, encode, Reset
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_HEALTH_METRICS_H_
#define FERRET_EXPORTERS_OTLP_METRICS_HEALTH_METRICS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporters/otlp/metrics/series_set.h"
#include "exporters/otlp/config/otlp_config.h"
#include "runtime/export/exporter.h"

namespace ferret::otlp {

// Of one signal; items are spans or data points.
struct SignalHealth {
  uint64_t delivered = 0;  // items that a receiver took
  // Items that nobody will get, by reason: a short lower-case text for error.type. Each reason is there once.
  std::vector<std::pair<std::string, uint64_t>> failed;
  uint64_t in_flight = 0;  // items of the request that is being sent now
};

struct DeliveryHealth {
  std::array<SignalHealth, kSignalCount> signals;  // by Signal
  uint64_t queued_spans = 0;                       // that wait now
  uint64_t queue_capacity_spans = 0;               // 0: spans are not what bounds the queue
  uint64_t queue_bytes = 0;                        // of all requests that wait now
  uint64_t queue_capacity_bytes = 0;
};

class HealthMetrics {
 public:
  // The protocols are those of the signals. The first interval begins at start_ns, Unix time.
  HealthMetrics(Form form, const std::array<Protocol, kSignalCount>& protocols, int64_t start_ns);

  // One request, from the beginning to its answer. `error_type` is empty if it was delivered: a short text otherwise,
  // of which there are few.
  void RecordOperation(Signal signal, int64_t duration_ns, std::string_view error_type);

  // Until time_ns. It lives until the next call.
  const std::vector<Metric>& Collect(const ExportProgress& progress, const DeliveryHealth& delivery, int64_t time_ns);
  // Ends the interval at the time of the last Collect, and begins the next one.
  void Reset();

 private:
  Metric* Add(std::string_view name, std::string_view description, std::string_view unit, Metric::Kind kind);
  // A point with the growth of `total` since the last Reset; none if it did not grow, unless `always`.
  void AddGrowth(Metric* metric, std::string_view reason, std::string attributes, uint64_t total, bool always);
  void AddLevel(Metric* metric, std::string attributes, uint64_t level);
  void AddSignal(Signal signal, const SignalHealth& health);
  // A list of the attributes that name a component, and of `error_type` if there is one.
  std::string Describe(uint32_t field, std::string_view component, std::string_view error_type) const;

  const Form form_;
  std::array<std::string, kSignalCount> components_;  // otel.component.type, by Signal
  SeriesSet operations_;
  const int64_t session_start_ns_;
  int64_t start_ns_;
  int64_t time_ns_;
  // Totals by metric and reason: at the last Reset, and at the last Collect.
  absl::flat_hash_map<std::string, uint64_t> before_;
  absl::flat_hash_map<std::string, uint64_t> now_;
  std::vector<Metric> metrics_;
  std::deque<std::string> attributes_;  // of the points of metrics_
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_HEALTH_METRICS_H_
