// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the metric encoders wrote, read by libprotobuf's own decoders, and what is asked of it.

#ifndef FERRET_TESTS_OTLP_DECODED_METRICS_H_
#define FERRET_TESTS_OTLP_DECODED_METRICS_H_

#include <string>
#include <vector>

#include "exporters/otlp/metrics/metric_encoder.h"
#include "metrics.pb.h"
#include "tests/otlp/decoded.h"

namespace ferret::otlp {

using MetricsRequest = otlp_test::ExportMetricsServiceRequest;
using DecodedHistogram = otlp_test::ExponentialHistogramDataPoint;

inline Resource TestResource() { return Resource(TestInfo(), kRunId, "python3", {}); }

// All in one.
inline constexpr MetricRequestLimits kAnySize = {size_t{64} << 20, size_t{1} << 20};

struct EncodedRequest {
  std::string bytes;
  size_t items = 0;
};
inline std::vector<EncodedRequest> EncodeMetrics(Form form, const std::vector<Metric>& metrics,
                                                 const MetricRequestLimits& limits = kAnySize) {
  std::vector<EncodedRequest> requests;
  MakeMetricEncoder(form, TestResource(), limits)->Encode(metrics, [&](const MetricRequest& request) {
    requests.push_back({std::string(request.bytes), request.items});
  });
  return requests;
}

inline MetricsRequest DecodeMetrics(const std::string& bytes) {
  MetricsRequest request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  EXPECT_FALSE(HasUnknownFields(request));
  return request;
}

inline std::vector<otlp_test::Metric> MetricsOf(const MetricsRequest& request) {
  std::vector<otlp_test::Metric> metrics;
  for (const auto& resource : request.resource_metrics()) {
    for (const auto& scope : resource.scope_metrics()) {
      metrics.insert(metrics.end(), scope.metrics().begin(), scope.metrics().end());
    }
  }
  return metrics;
}

// The JSON decoder knows no lenience: an unknown key is an error to it.
inline MetricsRequest DecodeMetricsJson(const std::string& text) {
  MetricsRequest request;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &request);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << text.substr(0, 2000);
  for (auto& resource : *request.mutable_resource_metrics()) {
    for (auto& scope : *resource.mutable_scope_metrics()) {
      for (otlp_test::Metric& metric : *scope.mutable_metrics()) {
        if (!metric.has_exponential_histogram()) continue;
        for (DecodedHistogram& point : *metric.mutable_exponential_histogram()->mutable_data_points()) {
          for (otlp_test::Exemplar& exemplar : *point.mutable_exemplars()) {
            exemplar.set_span_id(Unhex(HexAgain(exemplar.span_id())));
            exemplar.set_trace_id(Unhex(HexAgain(exemplar.trace_id())));
          }
        }
      }
    }
  }
  return request;
}

inline DecodedHistogram ExpectedPoint(const ExponentialHistogram& histogram) {
  DecodedHistogram point;
  point.set_count(histogram.count());
  point.set_sum(histogram.sum());
  point.set_min(histogram.min());
  point.set_max(histogram.max());
  point.set_scale(histogram.scale());
  point.set_zero_count(histogram.zero_count());
  if (!histogram.buckets().empty()) {
    point.mutable_positive()->set_offset(histogram.offset());
    for (const uint64_t count : histogram.buckets()) point.mutable_positive()->add_bucket_counts(count);
  }
  return point;
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_DECODED_METRICS_H_
