// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/metric_encoder.h"

#include "exporters/otlp/metrics/json_metric_encoder.h"
#include "exporters/otlp/metrics/proto_metric_encoder.h"

namespace ferret::otlp {

void MetricEncoder::Encode(const std::vector<Metric>& metrics, Sink sink) {
  sizes_.clear();
  for (const Metric& metric : metrics) {
    for (const MetricPoint& point : metric.points) sizes_.push_back(SizeOf(metric, point));
  }
  const PointSize* size = sizes_.data();
  bytes_ = HeadBytes();
  for (const Metric& metric : metrics) {
    const size_t around = MetricBytes(metric);
    bool begun = false;
    for (size_t i = 0; i < metric.points.size(); ++i, ++size) {
      const size_t needed = size->point + (begun ? 0 : around);
      if (points_ > 0 && (points_ >= limits_.most_points || bytes_ + needed > limits_.most_bytes)) {
        Send(sink);
        begun = false;
      }
      if (!begun) {
        slices_.push_back({&metric, i, 0, 0, size});
        bytes_ += around;
        begun = true;
      }
      Slice& slice = slices_.back();
      ++slice.count;
      slice.points_bytes += size->point;
      bytes_ += size->point;
      ++points_;
    }
  }
  if (points_ > 0) Send(sink);
}

void MetricEncoder::Send(Sink sink) {
  sink({Write(slices_), points_});
  slices_.clear();
  points_ = 0;
  bytes_ = HeadBytes();
}

std::unique_ptr<MetricEncoder> MakeMetricEncoder(Form form, const Resource& resource,
                                                 const MetricRequestLimits& limits) {
  if (form == Form::kJson) return std::make_unique<JsonMetricEncoder>(resource, limits);
  return std::make_unique<ProtoMetricEncoder>(resource, limits);
}

}  // namespace ferret::otlp
