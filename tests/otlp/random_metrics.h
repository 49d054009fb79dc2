// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An interval's metrics at random, of all kinds, with names and numbers as hostile as can be. The same seed makes the
// same metrics, in the form that is asked for.

#ifndef FERRET_TESTS_OTLP_RANDOM_METRICS_H_
#define FERRET_TESTS_OTLP_RANDOM_METRICS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/metrics/health_metrics.h"

namespace ferret::otlp {

class RandomMetrics {
 public:
  static constexpr int64_t kBeginNs = 1757000000123456789;

  RandomMetrics(uint64_t seed, Form form)
      : random_(seed), series_(form, kBeginNs),
        health_(form, {Protocol::kHttpProtobuf, Protocol::kGrpc}, kBeginNs) {
    for (int i = 0; i < 60; ++i) names_.push_back(AnyText());
    names_.push_back("");
    for (int i = 0; i < 4000; ++i) RecordAny();
    // Once: such a name makes everything slow.
    series_.RecordPhase(std::string(100000, 'k') + "\xc3", AnyNs());
    ExportProgress progress;
    progress.events_built = random_();
    for (uint64_t& lost : progress.lost.by_reason) lost = random_() % 2 == 0 ? 0 : random_() >> random_() % 64;
    DeliveryHealth delivery;
    for (SignalHealth& signal : delivery.signals) {
      signal.delivered = random_() >> random_() % 64;
      signal.in_flight = random_() % 3;
      signal.failed = {{"rejected", random_() % 100}, {AnyText(), 1}};
    }
    delivery.queued_spans = random_() % 100000;
    delivery.queue_capacity_spans = random_() % 2 * 100000;
    for (int i = 0; i < 20; ++i) {
      const Signal signal = static_cast<Signal>(random_() % kSignalCount);
      const int64_t ns = AnyNs();
      health_.RecordOperation(signal, ns, random_() % 2 == 0 ? "" : "timeout");
    }
    metrics_ = series_.Collect(kBeginNs + 60000000000);
    const std::vector<Metric>& health = health_.Collect(progress, delivery, kBeginNs + 60000000000);
    metrics_.insert(metrics_.end(), health.begin(), health.end());
    Metric gauge;
    gauge.name = "a.gauge";
    gauge.kind = Metric::Kind::kGauge;
    gauge.time_ns = -5;
    for (const int64_t value : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
      MetricPoint point;
      point.value = value;
      gauge.points.push_back(point);
    }
    metrics_.push_back(gauge);
    metrics_.emplace_back().name = "without.points";
  }

  // They live as long as this.
  const std::vector<Metric>& metrics() const { return metrics_; }
  size_t points() const {
    size_t points = 0;
    for (const Metric& metric : metrics_) points += metric.points.size();
    return points;
  }

 private:
  int64_t AnyNs() {
    switch (random_() % 8) {
      case 0: return 0;
      case 1: return INT64_MAX;
      case 2: return static_cast<int64_t>(random_() >> (1 + random_() % 62));
      default: return 1000 + static_cast<int64_t>(random_() % 3000);
    }
  }

  // Mostly what frameworks have; also control characters, quotes and bytes that are not UTF-8.
  std::string AnyText() {
    std::string text = random_() % 2 == 0 ? "aten::" : "";
    const bool any_bytes = random_() % 3 == 0;
    for (uint64_t left = random_() % 40; left > 0; --left) {
      text += static_cast<char>(any_bytes ? random_() % 256 : 'a' + random_() % 26);
    }
    return text;
  }

  void RecordAny() {
    FunctionEvent event;
    const size_t name = random_() % names_.size();
    event.name = names_[name];
    event.name_id = random_() % 4 == 0 ? 0 : static_cast<uint32_t>(name + 1);
    event.end_ns = AnyNs();
    DurationSeries::Id id;
    switch (random_() % 8) {
      case 0: id = series_.RecordStep(event.end_ns); break;
      case 1: id = series_.RecordPhase(event.name, event.end_ns); break;
      case 2:
      case 3:
        event.device_type = DeviceType::kCuda;
        event.device_index = static_cast<int16_t>(static_cast<int>(random_() % 5) - 1);
        event.activity_type = random_() % 2 == 0 ? ActivityType::kKernel : ActivityType::kGpuMemcpy;
        id = series_.RecordKernel(event);
        break;
      default: id = series_.RecordOp(event); break;
    }
    if (random_() % 16 != 0) return;
    Exemplar exemplar;
    for (char& byte : exemplar.trace_id) byte = static_cast<char>(random_());
    exemplar.span_id = random_();
    exemplar.time_ns = kBeginNs + event.end_ns % 1000;
    exemplar.value_ns = event.end_ns;
    series_.SetExemplar(id, exemplar);
  }

  std::mt19937_64 random_;
  std::vector<std::string> names_;
  DurationSeries series_;
  HealthMetrics health_;
  std::vector<Metric> metrics_;
};

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_RANDOM_METRICS_H_
