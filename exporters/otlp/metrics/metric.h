// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an encoder is told of a metric.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_METRIC_H_
#define FERRET_EXPORTERS_OTLP_METRICS_METRIC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/spans/attributes.h"
#include "exporters/otlp/metrics/exponential_histogram.h"
#include "exporters/otlp/spans/span_ids.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

// A recorded value whose span is in the traces, for people to look at.
struct Exemplar {
  TraceId trace_id{};
  SpanId span_id = 0;
  int64_t time_ns = 0;  // Unix
  int64_t value_ns = 0;

  double value() const { return ExponentialHistogram::Seconds(value_ns < 0 ? 0 : static_cast<uint64_t>(value_ns)); }
};

// What it refers to lives until it is encoded.
struct MetricPoint {
  std::string_view attributes;  // a list of the encoder's form: of kHistogramAttributes or kNumberAttributes
  // Of a histogram; not empty.
  const ExponentialHistogram* histogram = nullptr;
  const Exemplar* exemplar = nullptr;  // may be null
  // Of all others.
  int64_t value = 0;
};

struct Metric {
  enum class Kind : uint8_t {
    kHistogram,  // exponential, of what came since start_ns
    kCounter,    // a sum that only grows: how much since start_ns
    kUpDown,     // a sum that also falls: as it is now
    kGauge,      // as it is now, and adding it up means nothing
  };
  std::string_view name;
  std::string_view description;
  std::string_view unit;
  Kind kind = Kind::kHistogram;
  int64_t start_ns = 0;  // Unix
  int64_t time_ns = 0;
  std::vector<MetricPoint> points;  // without any, the metric is not written
};

// Field numbers of KeyValue lists.
inline constexpr uint32_t kHistogramAttributes = 1;
inline constexpr uint32_t kNumberAttributes = 7;

// A list in the form that is asked for: `fill` is called with a pointer to the attributes of one form or the other.
template <typename Fill>
std::string AttributeList(Form form, uint32_t field, const Fill& fill) {
  if (form == Form::kJson) {
    JsonAttributes attributes(field);
    fill(&attributes);
    return std::string(attributes.view());
  }
  ProtoAttributes attributes(field);
  fill(&attributes);
  return std::string(attributes.view());
}

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_METRIC_H_
