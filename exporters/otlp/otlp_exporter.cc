// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/otlp_exporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/resource/resource.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/file/target_path.h"

namespace ferret {
namespace {

using otlp::DurationSeries;
using otlp::Form;
using otlp::Protocol;
using otlp::Signal;

constexpr Signal kSignals[] = {Signal::kTraces, Signal::kMetrics};

const char* ErrorType(otlp::SendOutcome::Kind kind) {
  switch (kind) {
    case otlp::SendOutcome::Kind::kDelivered: return "";
    case otlp::SendOutcome::Kind::kRetryable: return "retryable";
    case otlp::SendOutcome::Kind::kRefused: return "refused";
    case otlp::SendOutcome::Kind::kTooLarge: return "too_large";
    case otlp::SendOutcome::Kind::kUnsupported: return "unsupported";
  }
  return "unknown";
}

Form FormOf(Protocol protocol) { return protocol == Protocol::kHttpJson ? Form::kJson : Form::kProtobuf; }

}  // namespace

OtlpExporter::OtlpExporter(OtlpOptions options)
    : options_(std::move(options)), clock_(options_.clock != nullptr ? options_.clock : RealRunnerClock()) {}

absl::StatusOr<std::unique_ptr<Exporter>> OtlpExporter::Create(const ExporterSpec& spec) {
  OtlpOptions options;
  absl::StatusOr<otlp::OtlpConfig> config = otlp::ReadOtlpConfig(spec, otlp::ProcessEnvironment());
  if (!config.ok()) return config.status();
  options.config = *std::move(config);
  otlp::LoadTransports(options.config);
  return std::make_unique<OtlpExporter>(std::move(options));
}

absl::Status OtlpExporter::Open(const SessionInfo& info) {
  const DiagnosticFn diagnostic = options_.diagnostic ? options_.diagnostic : WriteLineToStderr;
  const otlp::OtlpConfig& config = options_.config;
  for (const std::string& warning : config.warnings) diagnostic(warning);
  if (config.resource.disabled) return absl::FailedPreconditionError("OTEL_SDK_DISABLED=true: nothing is sent");
  if (!Sends(Signal::kTraces) && !Sends(Signal::kMetrics)) {
    return absl::FailedPreconditionError("neither traces nor metrics are to be sent");
  }
  info_ = info;
  latest_ns_ = info.start_ns;
  operations_ = std::make_shared<otlp::OperationLog>();
  for (const Signal signal : kSignals) {
    absl::Status opened = Sends(signal) ? OpenDelivery(signal) : absl::OkStatus();
    if (!opened.ok()) return opened;
  }
  // curl's, gRPC's and OpenSSL's.
  if (info.before_exit_handlers_so_far) info.before_exit_handlers_so_far();

  const std::string run_id = options_.run_id.empty() ? RunId() : options_.run_id;
  const otlp::SpanIds ids(otlp::KeyOf(info, run_id));
  const otlp::Resource resource(info, run_id, otlp::ExecutableName(info), config.resource);
  if (Sends(Signal::kMetrics)) {
    const Form form = FormOf(config.signals[static_cast<size_t>(Signal::kMetrics)].protocol);
    durations_.emplace(form, info.start_ns);
    health_.emplace(form, std::array<Protocol, otlp::kSignalCount>{config.signals[0].protocol, config.signals[1].protocol},
                    info.start_ns);
    metric_encoder_ = otlp::MakeMetricEncoder(form, resource, {config.delivery.batch_bytes, config.delivery.batch_spans});
    metrics_due_ = clock_->After(config.metric_interval);
  }
  // Without spans, steps and their phases are still measured.
  if (!Sends(Signal::kTraces)) {
    OpenTraces<otlp::SpanEncoder>(ids, resource);
  } else {
    if (FormOf(config.signals[static_cast<size_t>(Signal::kTraces)].protocol) == Form::kJson) {
      OpenTraces<otlp::JsonEncoder>(ids, resource);
    } else {
      OpenTraces<otlp::SpanEncoder>(ids, resource);
    }
    release_due_ = clock_->After(config.metric_interval);
  }
  return absl::OkStatus();
}

absl::Status OtlpExporter::OpenDelivery(Signal signal) {
  const otlp::OtlpConfig& config = options_.config;
  const Protocol protocol = config.signals[static_cast<size_t>(signal)].protocol;
  std::shared_ptr<otlp::Delivery>& delivery = deliveries_[static_cast<size_t>(signal)];
  const std::shared_ptr<otlp::Delivery>& first = deliveries_[0];
  if (first != nullptr && config.signals[0].protocol == protocol) {
    delivery = first;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<otlp::Transport>> transport = options_.make_transport(config, protocol, clock_);
  if (!transport.ok()) return transport.status();
  if (destination_.empty()) destination_ = (*transport)->Destination();
  otlp::DeliveryOptions options;
  options.queue_bytes = config.delivery.queue_bytes;
  for (size_t i = 0; i < otlp::kSignalCount; ++i) options.timeouts[i] = config.signals[i].timeout;
  options.spill_directory = config.delivery.spill_directory;
  options.spill_bytes = config.delivery.spill_bytes;
  options.least_cut_bytes = options_.least_cut_bytes;
  options.clock = clock_;
  options.diagnostic = options_.diagnostic;
  options.on_thread_start = info_.on_thread_start;
  delivery = std::make_shared<otlp::Delivery>(
      std::make_unique<otlp::MeteredTransport>(*std::move(transport), operations_, clock_), std::move(options));
  return absl::OkStatus();
}

template <typename Encoder>
void OtlpExporter::OpenTraces(const otlp::SpanIds& ids, const otlp::Resource& resource) {
  otlp::StepReceivers receivers;
  otlp::OtlpConfig config = options_.config;
  if (Sends(Signal::kTraces)) {
    receivers.request = [this](otlp::RequestBody body) {
      batches_.Pushed(DeliveryOf(Signal::kTraces).Push(Signal::kTraces, std::string(body.bytes), body.spans));
    };
  } else {
    receivers.request = [](otlp::RequestBody) {};
    config.sampling.detail = otlp::Detail::kNone;
  }
  if (durations_) {
    receivers.sent = [this](const otlp::TraceId& trace, const otlp::HeldSpan& span) { SetExemplar(trace, span); };
    receivers.step = [this](int64_t duration_ns, const std::vector<otlp::StepPhases::Interval>& phases) {
      MeasureStep(duration_ns, phases);
    };
  }
  traces_ = std::make_unique<otlp::StepTraces<Encoder>>(ids, config, resource, std::move(receivers));
}

template <typename Function>
void OtlpExporter::WithTraces(const Function& function) {
  if (auto* const protobuf = std::get_if<Traces<otlp::SpanEncoder>>(&traces_)) {
    function(**protobuf);
  } else if (auto* const json = std::get_if<Traces<otlp::JsonEncoder>>(&traces_)) {
    function(**json);
  }
}

absl::Status OtlpExporter::Export(const EventBatch& batch) {
  last_batch_ = std::max(last_batch_, batch.sequence);  // mere notices of threads have none
  WithTraces([&](auto& traces) {
    // First, as each notice comes once.
    traces.Note(batch, clock_->Now());
    if (!begun_ && !(batch.events.empty() && batch.instants.empty() && batch.memory.empty())) {
      traces.Begin(info_);
      begun_ = true;
    }
    for (const FunctionEvent& event : batch.events) {
      traces.AddEvent(event, durations_ ? Measure(event) : DurationSeries::Id());
      latest_ns_ = std::max(latest_ns_, event.end_ns);
    }
    traces.AddMoments(batch);
  });
  events_ += batch.count();
  measured_ = measured_ || (durations_ && !batch.events.empty());
  SendMetricsIfDue();
  return absl::OkStatus();
}

DurationSeries::Id OtlpExporter::Measure(const FunctionEvent& event) {
  if (event.device_type != DeviceType::kCpu) return durations_->RecordKernel(event);
  int64_t number = 0;
  return IsStep(event, &number) ? DurationSeries::Id() : durations_->RecordOp(event);
}

void OtlpExporter::MeasureStep(int64_t duration_ns, const std::vector<otlp::StepPhases::Interval>& phases) {
  durations_->RecordStep(duration_ns);
  for (const otlp::StepPhases::Interval& phase : phases) {
    durations_->RecordPhase(otlp::PhaseText(phase.phase), phase.busy_ns);
  }
}

void OtlpExporter::SetExemplar(const otlp::TraceId& trace, const otlp::HeldSpan& span) {
  durations_->SetExemplar(span.series, {trace, span.id, span.start_ns, span.duration_ns});
}

void OtlpExporter::SendMetricsIfDue() {
  if (!durations_ || clock_->Now() < metrics_due_) return;
  metrics_due_ = clock_->After(options_.config.metric_interval);
  SendMetrics();
}

void OtlpExporter::SendMetrics() {
  if (!durations_) return;
  measured_ = false;
  const int64_t now_ns = absl::ToUnixNanos(clock_->ToWallClock(clock_->Now()));
  for (const otlp::Operation& operation : operations_->Take()) {
    health_->RecordOperation(operation.signal, operation.duration_ns, ErrorType(operation.kind));
  }
  const auto push = [this](const otlp::MetricRequest& request) {
    DeliveryOf(Signal::kMetrics).Push(Signal::kMetrics, std::string(request.bytes), request.items);
  };
  metric_encoder_->Encode(durations_->Collect(now_ns), push);
  durations_->Reset();
  metric_encoder_->Encode(health_->Collect(progress_, Health(), now_ns), push);
  health_->Reset();
}

otlp::DeliveryHealth OtlpExporter::Health() const {
  otlp::DeliveryHealth health;
  const otlp::Delivery* previous = nullptr;
  for (const Signal signal : kSignals) {
    if (!Sends(signal)) continue;
    const otlp::Delivery* const delivery = deliveries_[static_cast<size_t>(signal)].get();
    const otlp::DeliveryCounts counts = delivery->counts();
    const otlp::SignalCounts& mine = counts[signal];
    otlp::SignalHealth& of_signal = health.signals[static_cast<size_t>(signal)];
    of_signal.delivered = mine.delivered.items;
    of_signal.in_flight = counts.in_flight_signal == signal ? counts.in_flight_items : 0;
    if (mine.rejected.items > 0) of_signal.failed.emplace_back("rejected", mine.rejected.items);
    for (size_t i = 0; i < otlp::kRequestLossCount; ++i) {
      if (mine.lost[i].items == 0) continue;
      of_signal.failed.emplace_back(otlp::RequestLossText(static_cast<otlp::RequestLoss>(i)), mine.lost[i].items);
    }
    if (signal == Signal::kTraces) health.queued_spans = mine.waiting.items;
    if (delivery == previous) continue;  // both signals go through it
    previous = delivery;
    health.queue_bytes += counts.queue_bytes;
    health.queue_capacity_bytes += counts.queue_capacity;
  }
  return health;
}

void OtlpExporter::Push(bool awaited) {
  WithTraces([&](auto& traces) {
    if (!traces.has_steps() && (awaited || clock_->Now() >= release_due_)) {
      traces.ReleaseHeld();
      release_due_ = clock_->After(options_.config.metric_interval);
    }
    traces.Flush(clock_->Now(), awaited);
    batches_.Through(traces.through(), traces.in_output());
  });
  SendMetricsIfDue();
}

absl::Status OtlpExporter::FlushInBackground(const ExportProgress& progress, absl::Time) {
  progress_ = progress;
  Push(/*awaited=*/false);
  Settle();
  return absl::OkStatus();
}

absl::Status OtlpExporter::Flush(const ExportProgress& progress, absl::Time deadline) {
  progress_ = progress;
  Push(/*awaited=*/true);
  const RunnerClock::Time until = clock_->At(deadline);
  for (const Signal signal : kSignals) {
    absl::Status flushed = Sends(signal) ? DeliveryOf(signal).Flush(until) : absl::OkStatus();
    if (!flushed.ok()) return flushed;
  }
  Settle();
  return absl::OkStatus();
}

void OtlpExporter::Settle() {
  if (!Sends(Signal::kTraces)) return;
  const otlp::Delivery& delivery = DeliveryOf(Signal::kTraces);
  settled_batch_ = batches_.Settled([&delivery](uint64_t number) { return delivery.IsUndecided(number); });
}

uint64_t OtlpExporter::SettledBatch() const {
  // Those that come after it and are lost on their way here do not wait for the next one that arrives.
  return !Sends(Signal::kTraces) || settled_batch_ == last_batch_ ? UINT64_MAX : settled_batch_;
}

bool OtlpExporter::NeedsFlush() const {
  if (measured_ || batches_.waits()) return true;
  if (const auto* const protobuf = std::get_if<Traces<otlp::SpanEncoder>>(&traces_)) return (*protobuf)->waits();
  if (const auto* const json = std::get_if<Traces<otlp::JsonEncoder>>(&traces_)) return (*json)->waits();
  return false;
}

absl::Status OtlpExporter::Close(const ExportProgress& progress, absl::Time deadline) {
  progress_ = progress;
  if (begun_) WithTraces([&](auto& traces) { traces.End(progress, events_, latest_ns_); });
  if (events_ > 0) SendMetrics();
  const RunnerClock::Time until = clock_->At(deadline);
  for (const std::shared_ptr<otlp::Delivery>& delivery : deliveries_) {
    if (delivery != nullptr) delivery->BeginClose(until);
  }
  // Delivery says what was lost, and why. A receiver that knows no metrics is one that has all that it wants.
  bool complete = true;
  for (const Signal signal : kSignals) {
    if (!Sends(signal)) continue;
    DeliveryOf(signal).Close(until);
    const otlp::SignalCounts counts = DeliveryOf(signal).counts()[signal];
    const uint64_t lost = counts.rejected.items + counts.all_lost().items;
    complete = complete && lost == counts[otlp::RequestLoss::kUnsupported].items;
    if (signal != Signal::kTraces) continue;
    // Of a run of which no span arrived, nothing is in the output.
    const bool some = counts.delivered.items + counts.spilled.items > 0;
    not_delivered_ = some || lost == 0 ? std::min(lost, events_) : events_;
  }
  return complete ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(destination_, " did not get everything"));
}

}  // namespace ferret
