// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What metrics cost: to record a duration, and to encode a data point, beside libprotobuf's generated code, which is
// given the same points (built as messages, then serialized), with one message that keeps its memory.
//
// 512 series with names of framework length; durations from 700 ns on, spread over a factor of 8 ("narrow") or of a
// million ("wide"). That both make the same request is checked before anything is measured.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "exporters/otlp/metrics/duration_series.h"
#include "exporters/otlp/metrics/metric_encoder.h"
#include "exporters/otlp/spans/span.h"
#include "metrics.pb.h"

namespace ferret::otlp {
namespace {

constexpr int kSeries = 512;
constexpr size_t kEvents = 1 << 16;
constexpr int64_t kStartNs = 1751410836123456789;

enum Spread { kNarrow, kWide };

int64_t AnyNs(Spread spread, std::mt19937_64* random) {
  const double share = static_cast<double>((*random)() >> 11) / static_cast<double>(uint64_t{1} << 53);
  return static_cast<int64_t>(700 * std::exp2(share * (spread == kNarrow ? 3 : 20)));
}

struct Events {
  explicit Events(Spread spread) {
    std::mt19937_64 random(1);
    for (int i = 0; i < kSeries; ++i) names.push_back("autograd::engine::evaluate_function: " + std::to_string(i));
    for (size_t i = 0; i < kEvents; ++i) {
      FunctionEvent& event = events.emplace_back();
      event.name_id = 1 + static_cast<uint32_t>(random() % kSeries);
      event.name = names[event.name_id - 1];
      event.start_ns = kStartNs;
      event.end_ns = kStartNs + AnyNs(spread, &random);
    }
  }
  std::vector<std::string> names;
  std::vector<FunctionEvent> events;
};

void BM_HistogramRecord(benchmark::State& state, Spread spread) {
  std::mt19937_64 random(1);
  std::vector<int64_t> durations(4096);
  for (int64_t& ns : durations) ns = AnyNs(spread, &random);
  ExponentialHistogram histogram;
  for (auto _ : state) {
    for (const int64_t ns : durations) histogram.Record(ns);
    benchmark::DoNotOptimize(histogram.count());
  }
  state.counters["ns/record"] = benchmark::Counter(static_cast<double>(state.iterations()) * 4096,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_SeriesRecord(benchmark::State& state, Spread spread) {
  const Events events(spread);
  DurationSeries series(Form::kProtobuf, kStartNs);
  for (auto _ : state) {
    for (const FunctionEvent& event : events.events) benchmark::DoNotOptimize(series.RecordOp(event));
  }
  state.counters["ns/record"] = benchmark::Counter(static_cast<double>(state.iterations()) * kEvents,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

Resource TestResource() {
  SessionInfo info;
  info.start_ns = kStartNs;
  info.host_name = "node-b";
  return Resource(info, "run", "python3", {});
}

// An interval's points.
struct Setup {
  Setup(Spread spread, Form form)
      : events(spread), series(form, kStartNs), encoder(MakeMetricEncoder(form, TestResource())) {
    for (const FunctionEvent& event : events.events) series.RecordOp(event);
    metrics = series.Collect(kStartNs + 1000);
  }
  std::string_view Encode() {
    std::string_view bytes;
    encoder->Encode(metrics, [&](const MetricRequest& request) { bytes = request.bytes; });
    return bytes;
  }
  Events events;
  DurationSeries series;
  std::unique_ptr<MetricEncoder> encoder;
  std::vector<Metric> metrics;
};

// How somebody would write it who has the generated classes.
class LibprotobufEncoding {
 public:
  LibprotobufEncoding(const Setup& setup, const otlp_test::Resource& resource) : resource_(resource) {
    // The name of each point, which the points of `setup` have only as bytes.
    for (const MetricPoint& point : setup.metrics[0].points) {
      otlp_test::ExponentialHistogramDataPoint decoded;
      if (!decoded.ParseFromString(std::string(point.attributes))) std::abort();
      names_.push_back(decoded.attributes(0).value().string_value());
    }
  }

  std::string_view Encode(const std::vector<Metric>& metrics) {
    request_.Clear();
    auto* const resource = request_.add_resource_metrics();
    *resource->mutable_resource() = resource_;
    auto* const scope = resource->add_scope_metrics();
    scope->mutable_scope()->set_name(kScopeName.data(), kScopeName.size());
    scope->mutable_scope()->set_version(kVersion.data(), kVersion.size());
    for (const Metric& metric : metrics) {
      auto* const made = scope->add_metrics();
      made->set_name(metric.name.data(), metric.name.size());
      made->set_description(metric.description.data(), metric.description.size());
      made->set_unit(metric.unit.data(), metric.unit.size());
      auto* const data = made->mutable_exponential_histogram();
      data->set_aggregation_temporality(otlp_test::AGGREGATION_TEMPORALITY_DELTA);
      for (size_t i = 0; i < metric.points.size(); ++i) {
        const ExponentialHistogram& histogram = *metric.points[i].histogram;
        auto* const point = data->add_data_points();
        auto* const attribute = point->add_attributes();
        attribute->set_key("ferret.op.name");
        attribute->mutable_value()->set_string_value(names_[i]);
        point->set_start_time_unix_nano(static_cast<uint64_t>(metric.start_ns));
        point->set_time_unix_nano(static_cast<uint64_t>(metric.time_ns));
        point->set_count(histogram.count());
        point->set_sum(histogram.sum());
        point->set_min(histogram.min());
        point->set_max(histogram.max());
        point->set_scale(histogram.scale());
        point->set_zero_count(histogram.zero_count());
        auto* const positive = point->mutable_positive();
        positive->set_offset(histogram.offset());
        positive->mutable_bucket_counts()->Add(histogram.buckets().begin(), histogram.buckets().end());
      }
    }
    bytes_.clear();
    request_.AppendToString(&bytes_);
    return bytes_;
  }

 private:
  const otlp_test::Resource resource_;
  std::vector<std::string> names_;
  otlp_test::ExportMetricsServiceRequest request_;
  std::string bytes_;
};

template <typename Encode>
void Run(benchmark::State& state, Encode encode) {
  size_t bytes = 0;
  for (auto _ : state) {
    const std::string_view request = encode();
    bytes = request.size();
    benchmark::DoNotOptimize(request.data());
  }
  const double points = static_cast<double>(state.iterations()) * kSeries;
  state.counters["ns/point"] = benchmark::Counter(points, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes/point"] = static_cast<double>(bytes) / kSeries;
}

void BM_EncodeProtobuf(benchmark::State& state, Spread spread) {
  Setup setup(spread, Form::kProtobuf);
  Run(state, [&] { return setup.Encode(); });
}
void BM_EncodeLibprotobuf(benchmark::State& state, Spread spread) {
  Setup setup(spread, Form::kProtobuf);
  otlp_test::ExportMetricsServiceRequest request;
  if (!request.ParseFromString(std::string(setup.Encode()))) std::abort();
  LibprotobufEncoding theirs(setup, request.resource_metrics(0).resource());
  if (request.SerializeAsString() != theirs.Encode(setup.metrics)) std::abort();
  Run(state, [&] { return theirs.Encode(setup.metrics); });
}
void BM_EncodeJson(benchmark::State& state, Spread spread) {
  Setup setup(spread, Form::kJson);
  Run(state, [&] { return setup.Encode(); });
}

BENCHMARK_CAPTURE(BM_HistogramRecord, narrow, kNarrow);
BENCHMARK_CAPTURE(BM_HistogramRecord, wide, kWide);
BENCHMARK_CAPTURE(BM_SeriesRecord, narrow, kNarrow);
BENCHMARK_CAPTURE(BM_SeriesRecord, wide, kWide);
BENCHMARK_CAPTURE(BM_EncodeProtobuf, narrow, kNarrow);
BENCHMARK_CAPTURE(BM_EncodeLibprotobuf, narrow, kNarrow);
BENCHMARK_CAPTURE(BM_EncodeJson, narrow, kNarrow);
BENCHMARK_CAPTURE(BM_EncodeProtobuf, wide, kWide);
BENCHMARK_CAPTURE(BM_EncodeLibprotobuf, wide, kWide);
BENCHMARK_CAPTURE(BM_EncodeJson, wide, kWide);

}  // namespace
}  // namespace ferret::otlp
