// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a span costs on its way from an event to a receiver on loopback. The spans are operators, see otlp_events.h.
//
//   Encode   encoded, nothing else: the floor of Steps
//   Steps    a training step of 4,096 operators in StepTraces: encoded, held, and when the step is over sent into requests
//            that nobody takes, or dropped because the step is not sampled; with and without histograms of durations
//   Send     a request of 8,192 spans over HTTP, by HttpTransport: `wire bytes/span` is what arrives of the body
//   Floor    the same bytes as that of Send, written to a socket, until the receiver has answered
//   Memcpy   the same bytes copied
//   Whole    events encoded, held and sent to the receiver, all on one thread (the exporter has two)

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/discarding_receiver.h"
#include "bench/otlp_events.h"
#include "exporters/otlp/http/http_transport.h"
#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/spans/span_encoder.h"
#include "exporters/otlp/steps/step_traces.h"

namespace ferret::otlp {
namespace {

void CountSpans(benchmark::State& state, size_t spans_each) {
  const double spans = static_cast<double>(state.iterations()) * static_cast<double>(spans_each);
  state.SetItemsProcessed(static_cast<int64_t>(spans));
  state.counters["ns/span"] = benchmark::Counter(spans, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// A training step that is recorded again and again, each time after the one before.
class Step {
 public:
  Step() {
    Fill(kOp, &batch_);
    length_ns_ = batch_.events.back().end_ns + 100'000 - kStartNs;
    details_.trace_name = name_;
    step_.name = "ProfilerStep*";
    step_.details = &details_;
    step_.device_resource_id = 4000;
    step_.start_ns = kStartNs;
    step_.end_ns = kStartNs + length_ns_;
  }
  const EventBatch& batch() const { return batch_; }
  const FunctionEvent& end() const { return step_; }
  // In the loop over the events, which it costs two additions each.
  template <typename Add>
  void ForEachEvent(const Add& add) {
    for (FunctionEvent& event : batch_.events) {
      add(event);
      event.start_ns += length_ns_;
      event.end_ns += length_ns_;
    }
  }
  void Next() {
    step_.start_ns += length_ns_;
    step_.end_ns += length_ns_;
    name_ = "ProfilerStep#" + std::to_string(++number_);
    details_.trace_name = name_;
  }

 private:
  EventBatch batch_;
  int64_t length_ns_ = 0;
  int64_t number_ = 0;
  std::string name_ = "ProfilerStep#0";
  EventDetails details_;
  FunctionEvent step_;
};

template <typename Encoder>
void Encode(benchmark::State& state) {
  Step step;
  const SpanIds ids(KeyOf(Info(), "run"));
  Encoder encoder(ids.trace_id(), Resource(Info(), "run", "python3", {}));
  BatchSpans<Encoder> spans(ids, &encoder);
  spans.Note(step.batch());
  for (auto _ : state) {
    encoder.Clear();
    step.ForEachEvent([&](const FunctionEvent& event) { spans.AddEvent(event); });
    benchmark::DoNotOptimize(encoder.Finish().bytes.data());
  }
  CountSpans(state, kSpans);
}

// StepTraces as the exporter drives it.
template <typename Encoder>
class Traces {
 public:
  Traces(Detail detail, bool histograms, std::function<void(RequestBody)> request) {
    OtlpConfig config;
    config.sampling.detail = detail;
    config.sampling.every = 0;
    config.sampling.slow = 0;
    StepReceivers receivers;
    receivers.request = std::move(request);
    if (histograms) {
      durations_.emplace(Form::kProtobuf, kStartNs);
      receivers.sent = [this](const TraceId& trace, const HeldSpan& span) {
        durations_->SetExemplar(span.series, {trace, span.id, span.start_ns, span.duration_ns});
      };
    }
    traces_.emplace(SpanIds(KeyOf(Info(), "run")), config, Resource(Info(), "run", "python3", {}), std::move(receivers));
    traces_->Note(step_.batch(), now_);
  }
  // A step, and the time that must go by until it is over.
  void RunStep() {
    step_.ForEachEvent([&](const FunctionEvent& event) {
      traces_->AddEvent(event, durations_ ? durations_->RecordOp(event) : DurationSeries::Id());
    });
    traces_->AddEvent(step_.end(), {});
    step_.Next();
    now_ += std::chrono::seconds(1);
    traces_->Note(nothing_, now_);
  }
  SpanCounts counts() const { return traces_->counts(); }

 private:
  Step step_;
  const EventBatch nothing_;
  RunnerClock::Time now_;
  std::optional<DurationSeries> durations_;
  std::optional<StepTraces<Encoder>> traces_;
};

template <typename Encoder>
void Steps(benchmark::State& state, Detail detail, bool histograms) {
  Traces<Encoder> traces(detail, histograms, [](RequestBody body) { benchmark::DoNotOptimize(body.bytes.data()); });
  for (auto _ : state) traces.RunStep();
  CountSpans(state, kSpans);
  const uint64_t events = static_cast<uint64_t>(state.iterations()) * kSpans;
  const bool dropped = detail != Detail::kAll;
  if ((dropped ? traces.counts().not_sampled : traces.counts().sent) < events || traces.counts().cut > 0) {
    state.SkipWithError("not all events were sent or dropped");
  }
}

template <typename Encoder>
const std::string& RequestOf() {
  static const std::string* const request = [] {
    auto* const bytes = new std::string;
    Step step;
    const SpanIds ids(KeyOf(Info(), "run"));
    Encoder encoder(ids.trace_id(), Resource(Info(), "run", "python3", {}));
    BatchSpans<Encoder> spans(ids, &encoder);
    spans.Note(step.batch());
    for (int i = 0; i < 2; ++i) step.ForEachEvent([&](const FunctionEvent& event) { spans.AddEvent(event); });
    *bytes = encoder.Finish().bytes;
    return bytes;
  }();
  return *request;
}
constexpr size_t kRequestSpans = 2 * kSpans;

std::unique_ptr<HttpTransport> Connect(const DiscardingReceiver& receiver, Form form, bool gzip) {
  HttpTransport::Signals signals;
  signals[0].url = receiver.Url();
  signals[0].gzip = gzip;
  signals[1].enabled = false;
  absl::StatusOr<std::unique_ptr<HttpTransport>> transport = HttpTransport::Create(signals, form);
  return transport.ok() ? *std::move(transport) : nullptr;
}

bool SendOne(Transport* transport, std::string_view body) {
  const RunnerClock::Time deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  return transport->Send(Signal::kTraces, body, deadline).kind == SendOutcome::Kind::kDelivered;
}

template <typename Encoder>
void Send(benchmark::State& state, Form form, bool gzip) {
  DiscardingReceiver receiver;
  const std::unique_ptr<HttpTransport> transport = Connect(receiver, form, gzip);
  if (transport == nullptr) return state.SkipWithError("libcurl is needed");
  const std::string& body = RequestOf<Encoder>();
  for (auto _ : state) {
    if (!SendOne(transport.get(), body)) return state.SkipWithError("a request was not taken");
  }
  CountSpans(state, kRequestSpans);
  state.counters["wire bytes/span"] = static_cast<double>(receiver.body_bytes()) /
                                      (static_cast<double>(state.iterations()) * static_cast<double>(kRequestSpans));
}

template <typename Encoder>
void Floor(benchmark::State& state) {
  DiscardingReceiver receiver;
  const std::string& body = RequestOf<Encoder>();
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool good = connect(client, reinterpret_cast<const sockaddr*>(&receiver.address()), sizeof(sockaddr_in)) == 0;
  char reply[256];
  for (auto _ : state) {
    for (std::string_view rest : {std::string_view(head), std::string_view(body)}) {
      while (good && !rest.empty()) {
        const ssize_t sent = send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
        good = sent > 0;
        if (good) rest.remove_prefix(static_cast<size_t>(sent));
      }
    }
    good = good && recv(client, reply, sizeof(reply), 0) > 0;
    if (!good) break;
  }
  if (!good) state.SkipWithError("the connection broke");
  close(client);
  CountSpans(state, kRequestSpans);
}

template <typename Encoder>
void Memcpy(benchmark::State& state) {
  const std::string& body = RequestOf<Encoder>();
  std::string copy(body.size(), '\0');
  for (auto _ : state) {
    std::memcpy(copy.data(), body.data(), body.size());
    benchmark::ClobberMemory();
  }
  CountSpans(state, kRequestSpans);
}

template <typename Encoder>
void Whole(benchmark::State& state, Form form, bool gzip) {
  DiscardingReceiver receiver;
  const std::unique_ptr<HttpTransport> transport = Connect(receiver, form, gzip);
  if (transport == nullptr) return state.SkipWithError("libcurl is needed");
  bool good = true;
  Traces<Encoder> traces(Detail::kAll, /*histograms=*/true,
                         [&](RequestBody body) { good = SendOne(transport.get(), body.bytes) && good; });
  for (auto _ : state) traces.RunStep();
  if (!good) state.SkipWithError("a request was not taken");
  CountSpans(state, kSpans);
}

void EncodeProtobuf(benchmark::State& state) { Encode<SpanEncoder>(state); }
void StepsSent(benchmark::State& state) { Steps<SpanEncoder>(state, Detail::kAll, false); }
void StepsSentWithHistograms(benchmark::State& state) { Steps<SpanEncoder>(state, Detail::kAll, true); }
void StepsDropped(benchmark::State& state) { Steps<SpanEncoder>(state, Detail::kSampled, false); }
void StepsDroppedWithHistograms(benchmark::State& state) { Steps<SpanEncoder>(state, Detail::kSampled, true); }
void EncodeJson(benchmark::State& state) { Encode<JsonEncoder>(state); }
void StepsSentJson(benchmark::State& state) { Steps<JsonEncoder>(state, Detail::kAll, false); }
void SendProtobuf(benchmark::State& state) { Send<SpanEncoder>(state, Form::kProtobuf, false); }
void SendProtobufGzip(benchmark::State& state) { Send<SpanEncoder>(state, Form::kProtobuf, true); }
void SendJson(benchmark::State& state) { Send<JsonEncoder>(state, Form::kJson, false); }
void SendJsonGzip(benchmark::State& state) { Send<JsonEncoder>(state, Form::kJson, true); }
void FloorProtobuf(benchmark::State& state) { Floor<SpanEncoder>(state); }
void FloorJson(benchmark::State& state) { Floor<JsonEncoder>(state); }
void MemcpyProtobuf(benchmark::State& state) { Memcpy<SpanEncoder>(state); }
void MemcpyJson(benchmark::State& state) { Memcpy<JsonEncoder>(state); }
void WholeProtobuf(benchmark::State& state) { Whole<SpanEncoder>(state, Form::kProtobuf, false); }
void WholeProtobufGzip(benchmark::State& state) { Whole<SpanEncoder>(state, Form::kProtobuf, true); }
void WholeJson(benchmark::State& state) { Whole<JsonEncoder>(state, Form::kJson, false); }

BENCHMARK(EncodeProtobuf);
BENCHMARK(StepsSent);
BENCHMARK(StepsSentWithHistograms);
BENCHMARK(StepsDropped);
BENCHMARK(StepsDroppedWithHistograms);
BENCHMARK(EncodeJson);
BENCHMARK(StepsSentJson);
BENCHMARK(MemcpyProtobuf);
BENCHMARK(MemcpyJson);
// The receiver and the kernel work too.
BENCHMARK(SendProtobuf)->UseRealTime();
BENCHMARK(SendProtobufGzip)->UseRealTime();
BENCHMARK(SendJson)->UseRealTime();
BENCHMARK(SendJsonGzip)->UseRealTime();
BENCHMARK(FloorProtobuf)->UseRealTime();
BENCHMARK(FloorJson)->UseRealTime();
BENCHMARK(WholeProtobuf)->UseRealTime();
BENCHMARK(WholeProtobufGzip)->UseRealTime();
BENCHMARK(WholeJson)->UseRealTime();

}  // namespace
}  // namespace ferret::otlp
