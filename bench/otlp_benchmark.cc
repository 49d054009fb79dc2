// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a span costs the OTLP encoders, beside libprotobuf's generated code, which is given the same spans (built as
// messages, then serialized), with one message that keeps its memory, which for plain spans is cheaper than an arena.
//
// The spans are those of otlp_events.h, in one request. `bytes/span` is of the encoded request. That both make the same request is checked before anything is measured.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/otlp_events.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span_encoder.h"
#include "trace.pb.h"

namespace ferret::otlp {
namespace {

template <typename Encoder>
struct Encoding {
  Encoding() : ids(KeyOf(Info(), "run")), encoder(ids.trace_id(), Resource(Info(), "run", "python3", {})),
               spans(ids, &encoder) {}
  std::string_view Encode(const EventBatch& batch) {
    encoder.Clear();
    for (const FunctionEvent& event : batch.events) spans.AddEvent(event);
    return encoder.Finish().bytes;
  }
  SpanIds ids;
  Encoder encoder;
  BatchSpans<Encoder> spans;
};

// How somebody would write it who has the generated classes: the resource is made anew for each request, ids and times
// are set from the event, attributes one by one.
class LibprotobufEncoding {
 public:
  using Request = otlp_test::ExportTraceServiceRequest;

  explicit LibprotobufEncoding(const SpanIds& ids) : ids_(ids), trace_(ids.trace_id().data(), 16) {}

  const std::string& Encode(const EventBatch& batch, const otlp_test::Resource& resource) {
    request_.Clear();
    auto* const resource_spans = request_.add_resource_spans();
    *resource_spans->mutable_resource() = resource;
    auto* const scope_spans = resource_spans->add_scope_spans();
    scope_spans->mutable_scope()->set_name(kScopeName.data(), kScopeName.size());
    scope_spans->mutable_scope()->set_version(kVersion.data(), kVersion.size());
    scope_spans->mutable_spans()->Reserve(static_cast<int>(batch.events.size()));
    for (const FunctionEvent& event : batch.events) Add(event, scope_spans->add_spans());
    bytes_.clear();
    request_.AppendToString(&bytes_);
    return bytes_;
  }

 private:
  static void SetId(SpanId id, std::string* out) {
    char bytes[8];
    id = __builtin_bswap64(id);
    std::memcpy(bytes, &id, sizeof(bytes));
    out->assign(bytes, sizeof(bytes));
  }
  template <typename Message>
  static void Int(const char* key, int64_t value, Message* message) {
    auto* const attribute = message->add_attributes();
    attribute->set_key(key);
    attribute->mutable_value()->set_int_value(value);
  }
  template <typename Message>
  static void Text(const char* key, const char* value, Message* message) {
    auto* const attribute = message->add_attributes();
    attribute->set_key(key);
    attribute->mutable_value()->set_string_value(value);
  }

  void Add(const FunctionEvent& event, otlp_test::Span* span) {
    const DeviceLaunch* const launch = event.details != nullptr ? event.details->launch : nullptr;
    const int64_t parent = launch != nullptr ? launch->scope_id : event.parent_id;
    span->set_trace_id(trace_);
    SetId(ids_.OfEvent(event.id), span->mutable_span_id());
    SetId(parent > 0 ? ids_.OfEvent(parent) : ids_.OfRun(), span->mutable_parent_span_id());
    span->set_name(event.name.data(), event.name.size());
    span->set_kind(otlp_test::Span::SPAN_KIND_INTERNAL);
    span->set_start_time_unix_nano(static_cast<uint64_t>(event.start_ns));
    span->set_end_time_unix_nano(static_cast<uint64_t>(event.end_ns));
    span->set_flags(kSpanFlags);
    if (launch != nullptr) {
      Text("ferret.device_type", "cuda", span);
      Int("ferret.device", event.device_index, span);
      Int("ferret.stream", event.device_resource_id, span);
      Text("thread.name", "stream 7", span);
      Text("ferret.activity", "kernel", span);
      Int("ferret.correlation_id", launch->correlation, span);
      Int("ferret.context", launch->context, span);
      Int("ferret.launch.start_unix_nano", launch->start_ns, span);
      Int("ferret.launch.end_unix_nano", launch->end_ns, span);
      Int("ferret.clock_error_ns", launch->clock_error_ns, span);
    } else if (event.device_resource_id != 0) {
      Int("thread.id", event.device_resource_id, span);
      Text("thread.name", kThreadName, span);
    }
    if (event.sequence_nr >= 0) {
      Int("ferret.sequence_nr", event.sequence_nr, span);
      Int("ferret.thread", event.thread, span);
    }
    if (event.fwd_thread > 0) Int("ferret.fwd_thread", event.fwd_thread, span);
    if (event.forward_id > 0) {
      auto* const link = span->add_links();
      link->set_trace_id(trace_);
      SetId(ids_.OfEvent(event.forward_id), link->mutable_span_id());
      Text("ferret.link.type", "forward", link);
      link->set_flags(kSpanFlags);
    }
  }

  const SpanIds ids_;
  const std::string trace_;
  Request request_;
  std::string bytes_;
};

// Everything of one kind, ready to be encoded by either.
struct Setup {
  explicit Setup(SpanKind kind) : theirs(ours.ids) {
    Fill(kind, &batch);
    ours.spans.Note(batch);
    json.spans.Note(batch);
    LibprotobufEncoding::Request request;
    if (!request.ParseFromString(std::string(ours.Encode(batch)))) std::abort();
    resource = request.resource_spans(0).resource();
    // Field order differs, so what is compared is what libprotobuf makes of both.
    if (request.SerializeAsString() != theirs.Encode(batch, resource)) std::abort();
  }
  EventBatch batch;
  Encoding<SpanEncoder> ours;
  Encoding<JsonEncoder> json;
  LibprotobufEncoding theirs;
  otlp_test::Resource resource;
};

template <typename Encode>
void Run(benchmark::State& state, const EventBatch& batch, Encode encode) {
  size_t bytes = 0;
  for (auto _ : state) {
    const std::string_view request = encode(batch);
    bytes = request.size();
    benchmark::DoNotOptimize(request.data());
  }
  const double spans = static_cast<double>(state.iterations()) * kSpans;
  state.SetItemsProcessed(static_cast<int64_t>(spans));
  state.counters["ns/span"] = benchmark::Counter(spans, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes/span"] = static_cast<double>(bytes) / kSpans;
}

void BM_Protobuf(benchmark::State& state, SpanKind kind) {
  Setup setup(kind);
  Run(state, setup.batch, [&](const EventBatch& batch) { return setup.ours.Encode(batch); });
}
void BM_Json(benchmark::State& state, SpanKind kind) {
  Setup setup(kind);
  Run(state, setup.batch, [&](const EventBatch& batch) { return setup.json.Encode(batch); });
}
void BM_Libprotobuf(benchmark::State& state, SpanKind kind) {
  Setup setup(kind);
  Run(state, setup.batch,
      [&](const EventBatch& batch) { return std::string_view(setup.theirs.Encode(batch, setup.resource)); });
}

BENCHMARK_CAPTURE(BM_Protobuf, plain, kPlain);
BENCHMARK_CAPTURE(BM_Libprotobuf, plain, kPlain);
BENCHMARK_CAPTURE(BM_Json, plain, kPlain);
BENCHMARK_CAPTURE(BM_Protobuf, op, kOp);
BENCHMARK_CAPTURE(BM_Libprotobuf, op, kOp);
BENCHMARK_CAPTURE(BM_Json, op, kOp);
BENCHMARK_CAPTURE(BM_Protobuf, kernel, kKernel);
BENCHMARK_CAPTURE(BM_Libprotobuf, kernel, kKernel);
BENCHMARK_CAPTURE(BM_Json, kernel, kKernel);

}  // namespace
}  // namespace ferret::otlp
