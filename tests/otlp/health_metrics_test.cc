// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/health_metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/otlp/decoded_metrics.h"

namespace ferret::otlp {
namespace {

constexpr std::array<Protocol, kSignalCount> kProtocols = {Protocol::kHttpProtobuf, Protocol::kGrpc};
constexpr char kSpans[] =
    "|otel.component.name=s:otlp_http_span_exporter/0|otel.component.type=s:otlp_http_span_exporter";
constexpr char kPoints[] =
    "|otel.component.name=s:otlp_grpc_metric_exporter/0|otel.component.type=s:otlp_grpc_metric_exporter";

// Numbers by metric and attributes; of histograms the count.
std::map<std::string, int64_t> Sent(const std::vector<Metric>& metrics) {
  std::map<std::string, int64_t> values;
  for (const EncodedRequest& request : EncodeMetrics(Form::kProtobuf, metrics)) {
    for (const otlp_test::Metric& metric : MetricsOf(DecodeMetrics(request.bytes))) {
      const auto add = [&](const auto& point, int64_t value) {
        std::string key = metric.name();
        for (const auto& [name, text] : AttributesOf(point.attributes())) key += "|" + name + "=" + text;
        EXPECT_TRUE(values.emplace(key, value).second) << key;
      };
      for (const auto& point : metric.sum().data_points()) add(point, point.as_int());
      for (const auto& point : metric.exponential_histogram().data_points()) {
        add(point, static_cast<int64_t>(point.count()));
      }
    }
  }
  return values;
}

TEST(HealthMetrics, CountsAreToldAsWhatCameSinceTheLastTime) {
  HealthMetrics health(Form::kProtobuf, kProtocols, kStartNs);
  ExportProgress progress;
  DeliveryHealth delivery;
  progress.events_built = 100;
  progress.lost[LossReason::kPoolExhausted] = 7;
  SignalHealth& traces = delivery.signals[static_cast<size_t>(Signal::kTraces)];
  traces.delivered = 40;
  traces.failed = {{"queue_full", 5}};
  auto sent = Sent(health.Collect(progress, delivery, kStartNs + 10));
  EXPECT_EQ(sent.at("ferret.events"), 100);
  EXPECT_EQ(sent.at("ferret.lost|ferret.lost.reason=s:pool_exhausted"), 7);
  EXPECT_EQ(sent.count("ferret.lost|ferret.lost.reason=s:memory_cap"), 0u);
  EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.span.exported") + kSpans), 40);
  EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.span.exported|error.type=s:queue_full") + kSpans), 5);
  EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.metric_data_point.exported") + kPoints), 0);

  health.Reset();
  progress.events_built = 130;
  progress.lost[LossReason::kMemoryCap] = 2;
  traces.delivered = 41;
  traces.failed = {{"queue_full", 5}, {"refused", 1}};
  sent = Sent(health.Collect(progress, delivery, kStartNs + 20));
  EXPECT_EQ(sent.at("ferret.events"), 30);
  EXPECT_EQ(sent.count("ferret.lost|ferret.lost.reason=s:pool_exhausted"), 0u);
  EXPECT_EQ(sent.at("ferret.lost|ferret.lost.reason=s:memory_cap"), 2);
  EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.span.exported") + kSpans), 1);
  EXPECT_EQ(sent.count(std::string("otel.sdk.exporter.span.exported|error.type=s:queue_full") + kSpans), 0u);
  EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.span.exported|error.type=s:refused") + kSpans), 1);
}

TEST(HealthMetrics, WhatWasCollectedAndNotSentIsCollectedAgain) {
  HealthMetrics health(Form::kProtobuf, kProtocols, kStartNs);
  ExportProgress progress;
  progress.events_built = 100;
  health.Collect(progress, {}, kStartNs + 10);
  progress.events_built = 150;
  EXPECT_EQ(Sent(health.Collect(progress, {}, kStartNs + 20)).at("ferret.events"), 150);
}

TEST(HealthMetrics, ACountThatFellIsToldAsNoGrowth) {
  HealthMetrics health(Form::kProtobuf, kProtocols, kStartNs);
  ExportProgress progress;
  progress.events_built = 100;
  health.Collect(progress, {}, kStartNs + 10);
  health.Reset();
  progress.events_built = 50;
  EXPECT_EQ(Sent(health.Collect(progress, {}, kStartNs + 20)).at("ferret.events"), 0);
  health.Reset();
  progress.events_built = 101;
  EXPECT_EQ(Sent(health.Collect(progress, {}, kStartNs + 30)).at("ferret.events"), 1);
}

TEST(HealthMetrics, LevelsAreAsTheyAreNow) {
  HealthMetrics health(Form::kProtobuf, kProtocols, kStartNs);
  DeliveryHealth delivery;
  delivery.queued_spans = 9;
  delivery.signals[0].in_flight = 4;
  delivery.queue_bytes = 700;
  delivery.queue_capacity_bytes = 1000000;
  const std::string processor =
      "|otel.component.name=s:batching_span_processor/0|otel.component.type=s:batching_span_processor";
  for (int interval = 1; interval < 3; ++interval) {
    const auto sent = Sent(health.Collect({}, delivery, kStartNs + interval));
    EXPECT_EQ(sent.at("otel.sdk.processor.span.queue.size" + processor), 9);
    EXPECT_EQ(sent.count("otel.sdk.processor.span.queue.capacity" + processor), 0u);
    EXPECT_EQ(sent.at(std::string("otel.sdk.exporter.span.inflight") + kSpans), 4);
    EXPECT_EQ(sent.at("ferret.queue.size"), 700);
    EXPECT_EQ(sent.at("ferret.queue.capacity"), 1000000);
    health.Reset();
  }
  delivery.queue_capacity_spans = 1000;
  const std::vector<Metric>& metrics = health.Collect({}, delivery, kStartNs + 9);
  EXPECT_EQ(Sent(metrics).at("otel.sdk.processor.span.queue.capacity" + processor), 1000);
  for (const Metric& metric : metrics) {
    EXPECT_EQ(metric.start_ns, metric.kind == Metric::Kind::kUpDown ? kStartNs : kStartNs + 2) << metric.name;
    EXPECT_EQ(metric.time_ns, kStartNs + 9);
  }
}

TEST(HealthMetrics, OperationsAreToldApartBySignalAndError) {
  HealthMetrics health(Form::kProtobuf, kProtocols, kStartNs);
  for (int i = 0; i < 3; ++i) health.RecordOperation(Signal::kTraces, 1000000, "");
  health.RecordOperation(Signal::kTraces, 2000000, "503");
  health.RecordOperation(Signal::kMetrics, 3000000, "");
  const std::string name = "otel.sdk.exporter.operation.duration";
  auto sent = Sent(health.Collect({}, {}, kStartNs + 10));
  EXPECT_EQ(sent.at(name + kSpans), 3);
  EXPECT_EQ(sent.at(name + "|error.type=s:503" + kSpans), 1);
  EXPECT_EQ(sent.at(name + kPoints), 1);
  health.Reset();
  sent = Sent(health.Collect({}, {}, kStartNs + 20));
  EXPECT_EQ(sent.count(name + kSpans), 0u);
}

TEST(HealthMetrics, ExportersAreNamedAsOpenTelemetryNamesThem) {
  const auto component = [](Protocol protocol) {
    HealthMetrics health(Form::kProtobuf, {protocol, protocol}, kStartNs);
    std::string found;
    for (const auto& [key, value] : Sent(health.Collect({}, {}, kStartNs + 1))) {
      if (key.rfind("otel.sdk.exporter.span.exported", 0) == 0) found = key.substr(key.rfind(':') + 1);
    }
    return found;
  };
  EXPECT_EQ(component(Protocol::kHttpProtobuf), "otlp_http_span_exporter");
  EXPECT_EQ(component(Protocol::kHttpJson), "otlp_http_json_span_exporter");
  EXPECT_EQ(component(Protocol::kGrpc), "otlp_grpc_span_exporter");
}

}  // namespace
}  // namespace ferret::otlp
