// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Metrics in both forms, read by libprotobuf.

#include "exporters/otlp/metrics/metric_encoder.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/text/utf8_text.h"
#include "tests/otlp/decoded_metrics.h"
#include "tests/otlp/random_metrics.h"

namespace ferret::otlp {
namespace {

using google::protobuf::util::MessageDifferencer;

class BothForms : public testing::TestWithParam<Form> {
 protected:
  static MetricsRequest DecodeIn(const std::string& bytes) {
    return GetParam() == Form::kJson ? DecodeMetricsJson(bytes) : DecodeMetrics(bytes);
  }
  static std::string Attributes(uint32_t field) {
    return AttributeList(GetParam(), field, [](auto* out) { out->Text("key", "value"); });
  }
};

std::string FormName(const testing::TestParamInfo<Form>& info) {
  return info.param == Form::kJson ? "Json" : "Protobuf";
}
INSTANTIATE_TEST_SUITE_P(Forms, BothForms, testing::Values(Form::kProtobuf, Form::kJson), FormName);

TEST_P(BothForms, AHistogramIsWrittenFieldByField) {
  ExponentialHistogram histogram;
  for (const int64_t ns : {0, 1000, 2000, 2000, 1500000}) histogram.Record(ns);
  Exemplar exemplar;
  exemplar.trace_id.fill(7);
  exemplar.span_id = 0x1122334455667788;
  exemplar.time_ns = kStartNs + 3;
  exemplar.value_ns = 1500000;
  const std::string attributes = Attributes(kHistogramAttributes);
  Metric metric;
  metric.name = "ferret.op.duration";
  metric.description = "a \"text\"";
  metric.unit = "s";
  metric.start_ns = kStartNs;
  metric.time_ns = kStartNs + 9;
  metric.points = {{attributes, &histogram, &exemplar, 0}, {{}, &histogram, nullptr, 0}};
  const auto requests = EncodeMetrics(GetParam(), {metric});
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].items, 2u);

  const MetricsRequest request = DecodeIn(requests[0].bytes);
  ASSERT_EQ(request.resource_metrics_size(), 1);
  const auto& resource = request.resource_metrics(0);
  EXPECT_EQ(AttributesOf(resource.resource().attributes()).at("service.name"), "s:unknown_service:python3");
  EXPECT_EQ(AttributesOf(resource.resource().attributes()).at("ferret.rank"), "i:3");
  ASSERT_EQ(resource.scope_metrics_size(), 1);
  EXPECT_EQ(resource.scope_metrics(0).scope().name(), "ferret");
  EXPECT_EQ(resource.scope_metrics(0).scope().version(), kVersion);
  ASSERT_EQ(resource.scope_metrics(0).metrics_size(), 1);
  const otlp_test::Metric& decoded = resource.scope_metrics(0).metrics(0);
  EXPECT_EQ(decoded.name(), "ferret.op.duration");
  EXPECT_EQ(decoded.description(), "a \"text\"");
  EXPECT_EQ(decoded.unit(), "s");
  EXPECT_EQ(decoded.exponential_histogram().aggregation_temporality(), otlp_test::AGGREGATION_TEMPORALITY_DELTA);
  ASSERT_EQ(decoded.exponential_histogram().data_points_size(), 2);

  DecodedHistogram expected = ExpectedPoint(histogram);
  expected.set_start_time_unix_nano(static_cast<uint64_t>(kStartNs));
  expected.set_time_unix_nano(static_cast<uint64_t>(kStartNs + 9));
  EXPECT_TRUE(MessageDifferencer::Equals(decoded.exponential_histogram().data_points(1), expected));
  auto* const attribute = expected.add_attributes();
  attribute->set_key("key");
  attribute->mutable_value()->set_string_value("value");
  auto* const shown = expected.add_exemplars();
  shown->set_time_unix_nano(static_cast<uint64_t>(kStartNs + 3));
  shown->set_as_double(0.0015);
  shown->set_span_id("\x11\x22\x33\x44\x55\x66\x77\x88");
  shown->set_trace_id(std::string(16, 7));
  EXPECT_TRUE(MessageDifferencer::Equals(decoded.exponential_histogram().data_points(0), expected))
      << decoded.exponential_histogram().data_points(0).DebugString() << expected.DebugString();
}

TEST_P(BothForms, SumsAndGaugesSayWhatTheyAre) {
  const std::string attributes = Attributes(kNumberAttributes);
  std::vector<Metric> metrics(3);
  const Metric::Kind kinds[] = {Metric::Kind::kCounter, Metric::Kind::kUpDown, Metric::Kind::kGauge};
  for (size_t i = 0; i < 3; ++i) {
    metrics[i].name = "m";
    metrics[i].kind = kinds[i];
    metrics[i].start_ns = 5;
    metrics[i].time_ns = 6;
    metrics[i].points = {{attributes, nullptr, nullptr, -7 * static_cast<int64_t>(i)}};
  }
  const auto requests = EncodeMetrics(GetParam(), metrics);
  ASSERT_EQ(requests.size(), 1u);
  const std::vector<otlp_test::Metric> decoded = MetricsOf(DecodeIn(requests[0].bytes));
  ASSERT_EQ(decoded.size(), 3u);
  EXPECT_EQ(decoded[0].sum().aggregation_temporality(), otlp_test::AGGREGATION_TEMPORALITY_DELTA);
  EXPECT_TRUE(decoded[0].sum().is_monotonic());
  EXPECT_EQ(decoded[1].sum().aggregation_temporality(), otlp_test::AGGREGATION_TEMPORALITY_CUMULATIVE);
  EXPECT_FALSE(decoded[1].sum().is_monotonic());
  ASSERT_EQ(decoded[0].sum().data_points_size(), 1);
  ASSERT_EQ(decoded[1].sum().data_points_size(), 1);
  ASSERT_EQ(decoded[2].gauge().data_points_size(), 1);
  const otlp_test::NumberDataPoint points[] = {decoded[0].sum().data_points(0), decoded[1].sum().data_points(0),
                                               decoded[2].gauge().data_points(0)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(points[i].value_case(), otlp_test::NumberDataPoint::kAsInt);
    EXPECT_EQ(points[i].as_int(), -7 * i);
    EXPECT_EQ(points[i].start_time_unix_nano(), 5u);
    EXPECT_EQ(points[i].time_unix_nano(), 6u);
    EXPECT_EQ(AttributesOf(points[i].attributes()).at("key"), "s:value");
  }
}

TEST_P(BothForms, WithoutPointsThereIsNoRequest) {
  Metric metric;
  metric.name = "m";
  EXPECT_TRUE(EncodeMetrics(GetParam(), {}).empty());
  EXPECT_TRUE(EncodeMetrics(GetParam(), {metric, metric}).empty());
}

TEST_P(BothForms, RequestsStayWithinTheLimitsAndTogetherHoldEverythingOnce) {
  const RandomMetrics random(11, GetParam());
  const MetricsRequest whole = DecodeIn(EncodeMetrics(GetParam(), random.metrics()).at(0).bytes);
  for (const MetricRequestLimits limits : {MetricRequestLimits{20000, 100000}, MetricRequestLimits{1 << 20, 7},
                                           MetricRequestLimits{1, 1}, MetricRequestLimits{0, 0}}) {
    MetricsRequest joined;
    size_t items = 0;
    bool alone = false;
    for (const EncodedRequest& request : EncodeMetrics(GetParam(), random.metrics(), limits)) {
      EXPECT_GT(request.items, 0u);
      EXPECT_LE(request.items, std::max<size_t>(1, limits.most_points));
      if (request.bytes.size() > limits.most_bytes) {
        EXPECT_EQ(request.items, 1u);
        alone = true;
      }
      items += request.items;
      // A metric that goes on is joined with its beginning.
      for (const otlp_test::Metric& metric : MetricsOf(DecodeIn(request.bytes))) {
        if (joined.resource_metrics_size() == 0) {
          *joined.add_resource_metrics() = whole.resource_metrics(0);
          joined.mutable_resource_metrics(0)->mutable_scope_metrics(0)->clear_metrics();
        }
        auto* const metrics = joined.mutable_resource_metrics(0)->mutable_scope_metrics(0)->mutable_metrics();
        if (!metrics->empty() && metrics->rbegin()->name() == metric.name()) {
          metrics->rbegin()->MergeFrom(metric);
        } else {
          *metrics->Add() = metric;
        }
      }
    }
    EXPECT_EQ(items, random.points());
    EXPECT_EQ(alone, limits.most_bytes < 100000);  // the point whose name alone is longer
    EXPECT_TRUE(MessageDifferencer::Equals(joined, whole));
  }
}

TEST_P(BothForms, AnEncoderCanBeUsedAgain) {
  const RandomMetrics random(12, GetParam());
  const std::unique_ptr<MetricEncoder> encoder = MakeMetricEncoder(GetParam(), TestResource(), kAnySize);
  std::vector<std::string> requests;
  for (int i = 0; i < 2; ++i) {
    encoder->Encode(random.metrics(), [&](const MetricRequest& request) { requests.emplace_back(request.bytes); });
  }
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0], requests[1]);
}

TEST(MetricEncoder, BothFormsCarryTheSameMessage) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const RandomMetrics proto(seed, Form::kProtobuf), json(seed, Form::kJson);
    const auto in_proto = EncodeMetrics(Form::kProtobuf, proto.metrics());
    const auto in_json = EncodeMetrics(Form::kJson, json.metrics());
    ASSERT_EQ(in_proto.size(), 1u);
    ASSERT_EQ(in_json.size(), 1u);
    EXPECT_EQ(in_json[0].bytes.find('\n'), in_json[0].bytes.size() - 1);
    EXPECT_TRUE(IsUtf8(in_json[0].bytes));
    const MetricsRequest a = DecodeMetrics(in_proto[0].bytes), b = DecodeMetricsJson(in_json[0].bytes);
    ASSERT_EQ(a.SerializeAsString(), b.SerializeAsString());
    for (const otlp_test::Metric& metric : MetricsOf(a)) {
      for (const DecodedHistogram& point : metric.exponential_histogram().data_points()) {
        AttributesOf(point.attributes());  // no key twice
      }
    }
  }
}

TEST(MetricEncoder, LibprotobufNeedsAsManyBytes) {
  const RandomMetrics random(3, Form::kProtobuf);
  std::vector<Metric> metrics = random.metrics();
  // Without times of 0 and empty texts, which libprotobuf leaves out.
  const auto is_bare = [](const Metric& metric) { return metric.unit.empty(); };
  metrics.erase(std::remove_if(metrics.begin(), metrics.end(), is_bare), metrics.end());
  const std::string bytes = EncodeMetrics(Form::kProtobuf, metrics).at(0).bytes;
  EXPECT_EQ(DecodeMetrics(bytes).SerializeAsString().size(), bytes.size());
}

}  // namespace
}  // namespace ferret::otlp
