// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ProtoMetricEncoder: ExportMetricsServiceRequest in protobuf. All lengths are known before the first byte is written.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_PROTO_METRIC_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_METRICS_PROTO_METRIC_ENCODER_H_

#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/metrics/metric_encoder.h"
#include "exporters/otlp/spans/wire.h"

namespace ferret::otlp {

class ProtoMetricEncoder : public MetricEncoder {
 public:
  ProtoMetricEncoder(const Resource& resource, const MetricRequestLimits& limits);

 protected:
  size_t HeadBytes() const override;
  size_t MetricBytes(const Metric& metric) const override;
  PointSize SizeOf(const Metric& metric, const MetricPoint& point) const override;
  std::string_view Write(const std::vector<Slice>& slices) override;

 private:
  std::string resource_;  // the whole field
  std::string scope_;     // the whole field
  ByteBuffer out_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_PROTO_METRIC_ENCODER_H_
