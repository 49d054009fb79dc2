// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MetricEncoder: metrics as ExportMetricsServiceRequests in protobuf or in OTLP/JSON, as many as limits ask for.
//
// What goes into a request is decided first, from the sizes of its points; then it is written once, front to back. A
// metric whose points do not fit into one request goes on in the next one.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_METRIC_ENCODER_H_
#define FERRET_EXPORTERS_OTLP_METRICS_METRIC_ENCODER_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "exporters/otlp/metrics/metric.h"
#include "exporters/otlp/resource/resource.h"

namespace ferret::otlp {

struct MetricRequest {
  std::string_view bytes;  // live until the next request
  size_t items = 0;        // data points
};

struct MetricRequestLimits {
  size_t most_bytes = size_t{7} << 19;  // 3.5 MiB: receivers take 4
  size_t most_points = 8000;
};

class MetricEncoder {
 public:
  using Sink = absl::FunctionRef<void(const MetricRequest&)>;

  virtual ~MetricEncoder() = default;

  // No request is empty, and none is larger than the limits but for one with a single point that is.
  void Encode(const std::vector<Metric>& metrics, Sink sink);

 protected:
  struct PointSize {
    size_t point = 0;    // at least, so that limits hold; exact if the form needs it
    size_t buckets = 0;  // of its bucket counts, if the form needs it
  };
  // Points of one metric, one behind the other.
  struct Slice {
    const Metric* metric = nullptr;
    size_t first = 0;
    size_t count = 0;
    size_t points_bytes = 0;
    const PointSize* sizes = nullptr;  // of the first point and those behind it

    const MetricPoint& point(size_t i) const { return metric->points[first + i]; }
  };

  explicit MetricEncoder(const MetricRequestLimits& limits) : limits_(limits) {}

  // Of what is around everything, of what is around the points of a metric, and of a point with all that is its own.
  virtual size_t HeadBytes() const = 0;
  virtual size_t MetricBytes(const Metric& metric) const = 0;
  virtual PointSize SizeOf(const Metric& metric, const MetricPoint& point) const = 0;
  virtual std::string_view Write(const std::vector<Slice>& slices) = 0;

 private:
  void Send(Sink sink);

  const MetricRequestLimits limits_;
  std::vector<PointSize> sizes_;  // of all points of all metrics
  // The request at hand.
  std::vector<Slice> slices_;
  size_t points_ = 0;
  size_t bytes_ = 0;
};

std::unique_ptr<MetricEncoder> MakeMetricEncoder(Form form, const Resource& resource,
                                                 const MetricRequestLimits& limits = {});

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_METRIC_ENCODER_H_
