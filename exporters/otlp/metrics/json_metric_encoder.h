// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JsonMetricEncoder: the same message as ProtoMetricEncoder makes, in OTLP/JSON: one line, with its newline.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_JSON_METRIC_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_METRICS_JSON_METRIC_ENCODER_H_

#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/metrics/metric_encoder.h"

namespace ferret::otlp {

class JsonMetricEncoder : public MetricEncoder {
 public:
  JsonMetricEncoder(const Resource& resource, const MetricRequestLimits& limits);

 protected:
  size_t HeadBytes() const override;
  size_t MetricBytes(const Metric& metric) const override;
  PointSize SizeOf(const Metric& metric, const MetricPoint& point) const override;
  std::string_view Write(const std::vector<Slice>& slices) override;

 private:
  std::string head_;  // up to the first metric
  std::string out_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_JSON_METRIC_ENCODER_H_
