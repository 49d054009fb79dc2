// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/health_metrics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferret::otlp {
namespace {

constexpr std::string_view kProcessor = "batching_span_processor";
// Errors are few; more than these are told as one.
constexpr SeriesLimits kOperationLimits = {64, size_t{64} << 10};

// OpenTelemetry's names of exporters.
std::string ComponentType(Protocol protocol, Signal signal) {
  const char* const what = signal == Signal::kTraces ? "span" : "metric";
  switch (protocol) {
    case Protocol::kHttpProtobuf: return absl::StrCat("otlp_http_", what, "_exporter");
    case Protocol::kHttpJson: return absl::StrCat("otlp_http_json_", what, "_exporter");
    case Protocol::kGrpc: return absl::StrCat("otlp_grpc_", what, "_exporter");
  }
  return "";
}

struct SignalNames {
  std::string_view exported, in_flight, unit;
};
SignalNames NamesOf(Signal signal) {
  if (signal == Signal::kTraces) {
    return {"otel.sdk.exporter.span.exported", "otel.sdk.exporter.span.inflight", "{span}"};
  }
  return {"otel.sdk.exporter.metric_data_point.exported", "otel.sdk.exporter.metric_data_point.inflight",
          "{data_point}"};
}

int64_t Clamped(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

}  // namespace

HealthMetrics::HealthMetrics(Form form, const std::array<Protocol, kSignalCount>& protocols, int64_t start_ns)
    : form_(form), operations_(form, kOperationLimits), session_start_ns_(start_ns), start_ns_(start_ns),
      time_ns_(start_ns) {
  for (size_t i = 0; i < kSignalCount; ++i) components_[i] = ComponentType(protocols[i], static_cast<Signal>(i));
}

std::string HealthMetrics::Describe(uint32_t field, std::string_view component, std::string_view error_type) const {
  return AttributeList(form_, field, [&](auto* out) {
    out->Text("otel.component.type", component);
    out->Text("otel.component.name", absl::StrCat(absl::string_view(component.data(), component.size()), "/0"));
    if (!error_type.empty()) out->Text("error.type", error_type);
  });
}

void HealthMetrics::RecordOperation(Signal signal, int64_t duration_ns, std::string_view error_type) {
  const size_t tag = static_cast<size_t>(signal);
  operations_.Record(error_type, 0, tag, duration_ns,
                     [&] { return Describe(kHistogramAttributes, components_[tag], error_type); });
}

Metric* HealthMetrics::Add(std::string_view name, std::string_view description, std::string_view unit,
                           Metric::Kind kind) {
  Metric metric;
  metric.name = name;
  metric.description = description;
  metric.unit = unit;
  metric.kind = kind;
  metric.start_ns = kind == Metric::Kind::kUpDown ? session_start_ns_ : start_ns_;
  metric.time_ns = time_ns_;
  return &metrics_.emplace_back(std::move(metric));
}

void HealthMetrics::AddGrowth(Metric* metric, std::string_view reason, std::string attributes, uint64_t total,
                              bool always) {
  std::string key(metric->name);
  key.append(1, '\n').append(reason);
  const auto before = before_.find(key);
  const uint64_t from = before == before_.end() ? 0 : before->second;
  now_[key] = std::max(from, total);
  if (total <= from && !always) return;
  AddLevel(metric, std::move(attributes), total <= from ? 0 : total - from);
}

void HealthMetrics::AddLevel(Metric* metric, std::string attributes, uint64_t level) {
  MetricPoint point;
  point.attributes = attributes_.emplace_back(std::move(attributes));
  point.value = Clamped(level);
  metric->points.push_back(point);
}

void HealthMetrics::AddSignal(Signal signal, const SignalHealth& health) {
  const SignalNames names = NamesOf(signal);
  const std::string& component = components_[static_cast<size_t>(signal)];
  Metric* const exported = Add(names.exported, "Items that were exported, or failed to be", names.unit,
                               Metric::Kind::kCounter);
  AddGrowth(exported, "", Describe(kNumberAttributes, component, ""), health.delivered, true);
  for (const auto& [reason, items] : health.failed) {
    AddGrowth(exported, reason, Describe(kNumberAttributes, component, reason), items, false);
  }
  Metric* const in_flight = Add(names.in_flight, "Items of the request that is being sent", names.unit,
                                Metric::Kind::kUpDown);
  AddLevel(in_flight, Describe(kNumberAttributes, component, ""), health.in_flight);
}

const std::vector<Metric>& HealthMetrics::Collect(const ExportProgress& progress, const DeliveryHealth& delivery,
                                                  int64_t time_ns) {
  time_ns_ = std::max(start_ns_, time_ns);
  metrics_.clear();
  attributes_.clear();
  Metric* const events = Add("ferret.events", "Events that were recorded and built", "{event}", Metric::Kind::kCounter);
  AddGrowth(events, "", "", progress.events_built, true);
  Metric* const lost = Add("ferret.lost", "Events that were lost", "{event}", Metric::Kind::kCounter);
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    const LossReason reason = static_cast<LossReason>(i);
    const char* const text = LossReasonText(reason);
    AddGrowth(lost, text, AttributeList(form_, kNumberAttributes, [&](auto* out) {
                out->Text("ferret.lost.reason", text);
              }), progress.lost[reason], false);
  }
  for (size_t i = 0; i < kSignalCount; ++i) AddSignal(static_cast<Signal>(i), delivery.signals[i]);
  Metric* const size = Add("otel.sdk.processor.span.queue.size", "Spans that wait to be sent", "{span}",
                           Metric::Kind::kUpDown);
  AddLevel(size, Describe(kNumberAttributes, kProcessor, ""), delivery.queued_spans);
  if (delivery.queue_capacity_spans != 0) {
    Metric* const capacity = Add("otel.sdk.processor.span.queue.capacity", "Spans for which the queue has room",
                                 "{span}", Metric::Kind::kUpDown);
    AddLevel(capacity, Describe(kNumberAttributes, kProcessor, ""), delivery.queue_capacity_spans);
  }
  Metric* const bytes = Add("ferret.queue.size", "Bytes of the requests that wait to be sent", "By",
                            Metric::Kind::kUpDown);
  AddLevel(bytes, "", delivery.queue_bytes);
  Metric* const most_bytes = Add("ferret.queue.capacity", "Bytes of requests for which there is room", "By",
                                 Metric::Kind::kUpDown);
  AddLevel(most_bytes, "", delivery.queue_capacity_bytes);
  Metric* const operations = Add("otel.sdk.exporter.operation.duration", "How long requests took", "s",
                                 Metric::Kind::kHistogram);
  operations_.AppendPoints(&operations->points);
  return metrics_;
}

void HealthMetrics::Reset() {
  for (auto& [key, total] : now_) before_[key] = total;
  now_.clear();
  metrics_.clear();
  attributes_.clear();
  start_ns_ = time_ns_;
  operations_.Reset();
}

}  // namespace ferret::otlp
