// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exporter `otlp`: a run as OpenTelemetry traces and metrics, sent to a receiver while it lasts; see otlp.md.
//
//     batch ──► DurationSeries ──► MetricEncoder ───┐
//          └──► StepTraces (which encodes spans) ───┴──► Delivery ──► Transport
//
// On the exporter's thread everything is encoded; Delivery's own thread waits for the receiver.

#ifndef FERRET_EXPORTERS_OTLP_OTLP_EXPORTER_H_
#define FERRET_EXPORTERS_OTLP_OTLP_EXPORTER_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/otlp/delivery/delivery.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/make_transport.h"
#include "exporters/otlp/delivery/metered_transport.h"
#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/metrics/health_metrics.h"
#include "exporters/otlp/metrics/metric_encoder.h"
#include "exporters/otlp/batch_progress.h"
#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/spans/span_encoder.h"
#include "exporters/otlp/steps/step_traces.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"

namespace ferret {

struct OtlpOptions {
  otlp::OtlpConfig config;
  // What a test puts in their places.
  std::function<absl::StatusOr<std::unique_ptr<otlp::Transport>>(const otlp::OtlpConfig&, otlp::Protocol,
                                                                 RunnerClock*)>
      make_transport = &otlp::MakeTransport;
  uint64_t least_cut_bytes = otlp::DeliveryOptions().least_cut_bytes;
  std::string run_id;               // empty: RunId()
  RunnerClock* clock = nullptr;     // null: the real one
  DiagnosticFn diagnostic;          // empty: a line on stderr
};

class OtlpExporter final : public Exporter {
 public:
  explicit OtlpExporter(OtlpOptions options);

  // An ExporterFactory. Reads the OTEL_* variables.
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(const ExporterSpec& spec);

  // Connects to nothing: a receiver that is not there may come. FailedPrecondition if OTEL_SDK_DISABLED says so.
  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  // Waits for the receiver.
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status FlushInBackground(const ExportProgress& progress, absl::Time deadline) override;
  bool NeedsFlush() const override;
  // Spans only: metrics are of intervals, and those of the last one go with the process.
  uint64_t SettledBatch() const override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;
  std::string Destination() const override { return destination_; }
  uint64_t NotDelivered() const override { return not_delivered_; }

 private:
  template <typename Encoder>
  using Traces = std::unique_ptr<otlp::StepTraces<Encoder>>;

  void Push(bool awaited);
  void Settle();
  absl::Status OpenDelivery(otlp::Signal signal);
  template <typename Encoder>
  void OpenTraces(const otlp::SpanIds& ids, const otlp::Resource& resource);
  // Calls `function` with the traces, if there are any.
  template <typename Function>
  void WithTraces(const Function& function);
  otlp::DurationSeries::Id Measure(const FunctionEvent& event);
  void MeasureStep(int64_t duration_ns, const std::vector<otlp::StepPhases::Interval>& phases);
  void SetExemplar(const otlp::TraceId& trace, const otlp::HeldSpan& span);
  void SendMetricsIfDue();
  void SendMetrics();
  otlp::DeliveryHealth Health() const;
  otlp::Delivery& DeliveryOf(otlp::Signal signal) { return *deliveries_[static_cast<size_t>(signal)]; }
  bool Sends(otlp::Signal signal) const { return options_.config.signals[static_cast<size_t>(signal)].enabled; }

  const OtlpOptions options_;
  RunnerClock* const clock_;
  SessionInfo info_;
  std::string destination_;
  // By signal; the same twice if both have the same protocol; null for one that is off.
  std::array<std::shared_ptr<otlp::Delivery>, otlp::kSignalCount> deliveries_;
  std::shared_ptr<otlp::OperationLog> operations_;
  std::variant<std::monostate, Traces<otlp::SpanEncoder>, Traces<otlp::JsonEncoder>> traces_;
  std::optional<otlp::DurationSeries> durations_;
  std::optional<otlp::HealthMetrics> health_;
  std::unique_ptr<otlp::MetricEncoder> metric_encoder_;

  bool begun_ = false;
  bool measured_ = false;  // something, since metrics were sent
  RunnerClock::Time metrics_due_;
  RunnerClock::Time release_due_;  // of a program that has no steps
  int64_t latest_ns_ = 0;
  uint64_t events_ = 0;
  uint64_t not_delivered_ = 0;
  ExportProgress progress_;
  otlp::BatchProgress batches_;
  uint64_t settled_batch_ = 0;
  uint64_t last_batch_ = 0;
};

}  // namespace ferret

#endif  // FERRET_EXPORTERS_OTLP_OTLP_EXPORTER_H_
