// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/duration_series.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/otlp/decoded_metrics.h"

namespace ferret::otlp {
namespace {

FunctionEvent Op(std::string_view name, uint32_t name_id, int64_t ns) {
  FunctionEvent event;
  event.name = name;
  event.name_id = name_id;
  event.start_ns = kStartNs;
  event.end_ns = kStartNs + ns;
  return event;
}

FunctionEvent Kernel(std::string_view name, uint32_t name_id, int64_t ns, int device,
                     ActivityType activity = ActivityType::kKernel) {
  FunctionEvent event = Op(name, name_id, ns);
  event.device_type = DeviceType::kCuda;
  event.device_index = static_cast<int16_t>(device);
  event.activity_type = activity;
  return event;
}

// Everything that would be sent, by metric and attributes ("name|key=value|…"). Two points with the same are a failure.
std::map<std::string, DecodedHistogram> Sent(const std::vector<Metric>& metrics) {
  std::map<std::string, DecodedHistogram> points;
  for (const EncodedRequest& request : EncodeMetrics(Form::kProtobuf, metrics)) {
    for (const otlp_test::Metric& metric : MetricsOf(DecodeMetrics(request.bytes))) {
      EXPECT_EQ(metric.unit(), "s");
      EXPECT_EQ(metric.exponential_histogram().aggregation_temporality(), otlp_test::AGGREGATION_TEMPORALITY_DELTA);
      for (const DecodedHistogram& point : metric.exponential_histogram().data_points()) {
        std::string key = metric.name();
        for (const auto& [name, value] : AttributesOf(point.attributes())) key += "|" + name + "=" + value;
        EXPECT_TRUE(points.emplace(key, point).second) << key;
      }
    }
  }
  return points;
}

std::set<std::string> Keys(const std::map<std::string, DecodedHistogram>& points) {
  std::set<std::string> keys;
  for (const auto& [key, point] : points) keys.insert(key);
  return keys;
}

TEST(DurationSeries, EachNameIsASeriesWithOrWithoutANameId) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  series.RecordOp(Op("aten::add", 3, 1000));
  series.RecordOp(Op("aten::mul", 4, 2000));
  series.RecordOp(Op("aten::add", 3, 3000));
  series.RecordOp(Op("aten::add", 0, 5000));  // the same name, as a text
  series.RecordOp(Op("mine", 0, 7000));
  series.RecordOp(Op("mine", 0, 7000));
  const auto sent = Sent(series.Collect(kStartNs + 10));
  ASSERT_EQ(Keys(sent), (std::set<std::string>{"ferret.op.duration|ferret.op.name=s:aten::add",
                                              "ferret.op.duration|ferret.op.name=s:aten::mul",
                                              "ferret.op.duration|ferret.op.name=s:mine"}));
  const DecodedHistogram& add = sent.at("ferret.op.duration|ferret.op.name=s:aten::add");
  EXPECT_EQ(add.count(), 3u);
  EXPECT_EQ(add.sum(), 9e-6);
  EXPECT_EQ(add.min(), 1e-6);
  EXPECT_EQ(add.max(), 5e-6);
  EXPECT_EQ(add.start_time_unix_nano(), static_cast<uint64_t>(kStartNs));
  EXPECT_EQ(add.time_unix_nano(), static_cast<uint64_t>(kStartNs + 10));
}

TEST(DurationSeries, KernelsAreToldApartByDeviceAndByWhatTheyAre) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  for (int round = 0; round < 2; ++round) {
    for (int device = 0; device < 2; ++device) series.RecordKernel(Kernel("gemm", 9, 100, device));
    series.RecordKernel(Kernel("gemm", 9, 100, 0, ActivityType::kNone));  // shown as a kernel too
    series.RecordKernel(Kernel("copy", 8, 100, 0, ActivityType::kGpuMemcpy));
    series.RecordKernel(Kernel("copy", 0, 100, 0, ActivityType::kGpuMemset));
  }
  const auto sent = Sent(series.Collect(kStartNs + 10));
  const std::string begin = "ferret.kernel.duration|ferret.activity=s:";
  ASSERT_EQ(Keys(sent), (std::set<std::string>{begin + "kernel|ferret.device=i:0|ferret.kernel.name=s:gemm",
                                              begin + "kernel|ferret.device=i:1|ferret.kernel.name=s:gemm",
                                              begin + "gpu_memcpy|ferret.device=i:0|ferret.kernel.name=s:copy",
                                              begin + "gpu_memset|ferret.device=i:0|ferret.kernel.name=s:copy"}));
  EXPECT_EQ(sent.at(begin + "kernel|ferret.device=i:0|ferret.kernel.name=s:gemm").count(), 4u);
  EXPECT_EQ(sent.at(begin + "kernel|ferret.device=i:1|ferret.kernel.name=s:gemm").count(), 2u);
}

TEST(DurationSeries, AnOpAndAKernelOfOneNameAreTwoSeries) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  series.RecordOp(Op("copy", 1, 5));
  series.RecordKernel(Kernel("copy", 1, 6, 0));
  series.RecordStep(7);
  series.RecordPhase("forward", 8);
  series.RecordPhase("backward", 9);
  EXPECT_EQ(Keys(Sent(series.Collect(kStartNs + 10))),
            (std::set<std::string>{
                "ferret.op.duration|ferret.op.name=s:copy",
                "ferret.kernel.duration|ferret.activity=s:kernel|ferret.device=i:0|ferret.kernel.name=s:copy",
                "ferret.step.duration", "ferret.phase.duration|ferret.phase=s:forward",
                "ferret.phase.duration|ferret.phase=s:backward"}));
}

TEST(DurationSeries, IntervalsFollowOneAnotherAndAddUpToTheWhole) {
  std::mt19937_64 random(7);
  DurationSeries series(Form::kProtobuf, kStartNs);
  std::map<std::string, std::pair<uint64_t, uint64_t>> recorded, sent;  // count and nanoseconds
  int64_t now = kStartNs;
  for (int interval = 0; interval < 30; ++interval) {
    for (uint64_t left = random() % 200; left > 0; --left) {
      const uint32_t id = 1 + static_cast<uint32_t>(random() % 40);
      const std::string name = "op" + std::to_string(id);
      const uint64_t ns = random() % 1000000;
      series.RecordOp(Op(name, random() % 2 == 0 ? id : 0, static_cast<int64_t>(ns)));
      auto& [count, sum] = recorded["ferret.op.duration|ferret.op.name=s:" + name];
      ++count;
      sum += ns;
    }
    const int64_t before = now;
    now += 1000;
    for (const auto& [key, point] : Sent(series.Collect(now))) {
      EXPECT_EQ(point.start_time_unix_nano(), static_cast<uint64_t>(before));
      EXPECT_EQ(point.time_unix_nano(), static_cast<uint64_t>(now));
      auto& [count, sum] = sent[key];
      count += point.count();
      sum += static_cast<uint64_t>(std::llround(point.sum() * 1e9));
    }
    series.Reset();
  }
  EXPECT_EQ(sent, recorded);
}

TEST(DurationSeries, AnIntervalWithoutValuesHasNoMetrics) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  series.RecordOp(Op("a", 1, 5));
  EXPECT_EQ(series.Collect(kStartNs + 10).size(), 1u);
  series.Reset();
  EXPECT_TRUE(series.Collect(kStartNs + 20).empty());
  series.Reset();
  EXPECT_EQ(series.series(DurationSeries::Kind::kOp), 0u);
}

TEST(DurationSeries, NamesWithoutRoomShareTheOverflowSeries) {
  SeriesLimits limits;
  limits.most_series = 10;
  DurationSeries series(Form::kProtobuf, kStartNs, limits);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 25; ++i) series.RecordOp(Op("op" + std::to_string(i), i % 2 == 0 ? i + 1 : 0, 10));
  }
  series.RecordStep(10);
  const auto sent = Sent(series.Collect(kStartNs + 10));
  EXPECT_EQ(sent.size(), 12u);
  EXPECT_EQ(sent.at("ferret.op.duration|otel.metric.overflow=b:1").count(), 30u);
  EXPECT_EQ(sent.at("ferret.op.duration|ferret.op.name=s:op9").count(), 2u);
  EXPECT_EQ(sent.at("ferret.step.duration").count(), 1u);
  EXPECT_EQ(series.overflowed(), 30u);
}

TEST(DurationSeries, WhatIsNotUsedAnyMoreMakesRoom) {
  SeriesLimits limits;
  limits.most_series = 10;
  DurationSeries series(Form::kProtobuf, kStartNs, limits);
  for (int interval = 0; interval < 6; ++interval) {
    // Name ids and slots meet in other pairs every time.
    for (uint32_t i = 0; i < 10; ++i) {
      const uint32_t id = 1 + (i * 7 + static_cast<uint32_t>(interval) * 5) % 60;
      series.RecordOp(Op("op" + std::to_string(id), id, id));
    }
    for (const auto& [key, point] : Sent(series.Collect(kStartNs + 10))) {
      EXPECT_EQ(key, "ferret.op.duration|ferret.op.name=s:op" + std::to_string(std::llround(point.sum() * 1e9)));
    }
    series.Reset();
    series.Collect(kStartNs + 20);
    series.Reset();
  }
  EXPECT_EQ(series.overflowed(), 0u);
}

TEST(DurationSeries, AMillionDistinctNamesTakeNoMoreMemoryThanThousands) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  const auto record = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string name = "a name that is as long as names are " + std::to_string(i);
      series.RecordOp(Op(name, i % 2 == 0 ? static_cast<uint32_t>(i % 100000) : 0, i));
      if (i % 50000 == 49999) {
        series.Collect(kStartNs + i);
        series.Reset();
      }
    }
  };
  record(0, 10000);
  const size_t bytes = series.bytes();
  record(10000, 1000000);
  EXPECT_LE(series.series(DurationSeries::Kind::kOp), 2000u);
  EXPECT_LE(series.bytes(), bytes + (size_t{2} << 20));
  EXPECT_LT(series.bytes(), size_t{8} << 20);
  EXPECT_GT(series.overflowed(), 900000u);
}

TEST(DurationSeries, HugeNamesAreBoundedByTheirBytes) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  for (int i = 0; i < 500; ++i) series.RecordOp(Op(std::string(100000, 'x') + std::to_string(i), 0, 10));
  EXPECT_GT(series.series(DurationSeries::Kind::kOp), 10u);
  EXPECT_LT(series.bytes(), size_t{5} << 20);
  EXPECT_EQ(series.series(DurationSeries::Kind::kOp) + series.overflowed(), 500u);
}

TEST(DurationSeries, NamesThatOnlyDifferInIllFormedBytesStayTwoSeries) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  series.RecordOp(Op("a\xff", 0, 1));
  series.RecordOp(Op("a\xfe", 0, 1));
  series.RecordOp(Op("", 0, 1));
  series.RecordOp(Op("(empty)", 0, 1));
  EXPECT_EQ(Keys(Sent(series.Collect(kStartNs + 10))),
            (std::set<std::string>{
                "ferret.op.duration|ferret.name_hex=s:61ff|ferret.op.name=s:a\xef\xbf\xbd",
                "ferret.op.duration|ferret.name_hex=s:61fe|ferret.op.name=s:a\xef\xbf\xbd",
                "ferret.op.duration|ferret.name_hex=s:|ferret.op.name=s:(empty)",
                "ferret.op.duration|ferret.op.name=s:(empty)"}));
}

Exemplar ExemplarOf(SpanId id, int64_t value_ns) {
  Exemplar exemplar;
  exemplar.trace_id.fill('t');
  exemplar.span_id = id;
  exemplar.time_ns = kStartNs + 5;
  exemplar.value_ns = value_ns;
  return exemplar;
}

TEST(DurationSeries, TheLongestKeptSpanIsTheExemplarOfItsSeriesAndInterval) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  const auto record = [&](int64_t ns) { return series.RecordOp(Op("a", 1, ns)); };
  const auto first = record(10), second = record(30), third = record(20);
  series.RecordOp(Op("b", 2, 20));
  series.SetExemplar(third, ExemplarOf(3, 20));
  series.SetExemplar(second, ExemplarOf(0x0102030405060708, 30));
  series.SetExemplar(first, ExemplarOf(1, 10));
  auto sent = Sent(series.Collect(kStartNs + 10));
  EXPECT_EQ(sent.at("ferret.op.duration|ferret.op.name=s:b").exemplars_size(), 0);
  const DecodedHistogram& a = sent.at("ferret.op.duration|ferret.op.name=s:a");
  ASSERT_EQ(a.exemplars_size(), 1);
  EXPECT_EQ(a.exemplars(0).span_id(), "\1\2\3\4\5\6\7\x08");
  EXPECT_EQ(a.exemplars(0).trace_id(), std::string(16, 't'));
  EXPECT_EQ(a.exemplars(0).as_double(), 30e-9);
  EXPECT_EQ(a.exemplars(0).time_unix_nano(), static_cast<uint64_t>(kStartNs + 5));

  series.Reset();
  record(15);
  sent = Sent(series.Collect(kStartNs + 20));
  EXPECT_EQ(sent.at("ferret.op.duration|ferret.op.name=s:a").exemplars_size(), 0);
}

TEST(DurationSeries, AnExemplarThatComesTooLateIsNone) {
  DurationSeries series(Form::kProtobuf, kStartNs);
  const DurationSeries::Id none;
  const auto a = series.RecordOp(Op("a", 1, 10));
  const auto b = series.RecordOp(Op("b", 2, 10));
  series.Collect(kStartNs + 10);
  series.Reset();
  series.RecordOp(Op("b", 2, 5));
  series.Collect(kStartNs + 20);
  series.Reset();  // forgets a
  series.RecordOp(Op("c", 3, 10));  // takes its place
  series.RecordOp(Op("b", 2, 5));
  series.SetExemplar(a, ExemplarOf(1, 10));
  series.SetExemplar(b, ExemplarOf(2, 10));  // of a value that this interval does not have
  series.SetExemplar(none, ExemplarOf(3, 10));
  for (const auto& [key, point] : Sent(series.Collect(kStartNs + 30))) EXPECT_EQ(point.exemplars_size(), 0) << key;
}

}  // namespace
}  // namespace ferret::otlp
