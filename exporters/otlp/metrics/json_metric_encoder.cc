// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/json_metric_encoder.h"

#include "exporters/otlp/spans/span.h"
#include "runtime/text/json_text.h"
#include "runtime/text/number_text.h"

namespace ferret::otlp {
namespace {

constexpr std::string_view kTail = "]}]}]}\n";
// Keys, quotes and brackets of a point, of its exemplar and of a metric, and the numbers in the first two: the longest
// that there can be are shorter.
constexpr size_t kPointBytes = 512;
constexpr size_t kExemplarBytes = 256;
constexpr size_t kMetricBytes = 256;
constexpr size_t kBucketBytes = 23;  // 20 digits, two quotes, a comma

void Unsigned(std::string_view before, uint64_t value, std::string* out) {
  char digits[kNumberChars];
  out->append(before).append(digits, static_cast<size_t>(WriteUnsigned(digits, value) - digits));
}
void Signed(std::string_view before, int64_t value, std::string* out) {
  char digits[kNumberChars];
  out->append(before).append(digits, static_cast<size_t>(WriteSigned(digits, value) - digits));
}
void Real(std::string_view before, double value, std::string* out) {
  char digits[kNumberChars];
  out->append(before).append(digits, static_cast<size_t>(WriteDouble(digits, value) - digits));
}
void Text(std::string_view before, std::string_view text, std::string* out) {
  out->append(before);
  AppendJsonText(text, out);
}

// Each element of a list ends with a comma.
void CloseList(std::string* out) {
  if (out->back() == ',') out->pop_back();
  out->push_back(']');
}

// With a comma behind it.
void AppendCommon(const Metric& metric, const MetricPoint& point, std::string* out) {
  if (!point.attributes.empty()) {
    out->append("\"attributes\":[").append(point.attributes);
    CloseList(out);
    out->push_back(',');
  }
  Unsigned("\"startTimeUnixNano\":\"", UnixNano(metric.start_ns), out);
  Unsigned("\",\"timeUnixNano\":\"", UnixNano(metric.time_ns), out);
  out->append("\",");
}

void AppendExemplar(const Exemplar& exemplar, std::string* out) {
  Unsigned(",\"exemplars\":[{\"timeUnixNano\":\"", UnixNano(exemplar.time_ns), out);
  Real("\",\"asDouble\":", exemplar.value(), out);
  char id[sizeof(SpanId)];
  for (size_t i = 0; i < sizeof(id); ++i) id[i] = static_cast<char>(exemplar.span_id >> (56 - 8 * i));
  out->append(",\"spanId\":\"").append(HexText({id, sizeof(id)}));
  out->append("\",\"traceId\":\"").append(HexText({exemplar.trace_id.data(), exemplar.trace_id.size()}));
  out->append("\"}]");
}

void AppendHistogram(const Metric& metric, const MetricPoint& point, std::string* out) {
  const ExponentialHistogram& histogram = *point.histogram;
  AppendCommon(metric, point, out);
  Unsigned("\"count\":\"", histogram.count(), out);
  Real("\",\"sum\":", histogram.sum(), out);
  Signed(",\"scale\":", histogram.scale(), out);
  Unsigned(",\"zeroCount\":\"", histogram.zero_count(), out);
  out->append("\"");
  if (!histogram.buckets().empty()) {
    Signed(",\"positive\":{\"offset\":", histogram.offset(), out);
    out->append(",\"bucketCounts\":[");
    for (const uint64_t count : histogram.buckets()) {
      Unsigned("\"", count, out);
      out->append("\",");
    }
    CloseList(out);
    out->append("}");
  }
  if (point.exemplar != nullptr) AppendExemplar(*point.exemplar, out);
  Real(",\"min\":", histogram.min(), out);
  Real(",\"max\":", histogram.max(), out);
}

void AppendNumber(const Metric& metric, const MetricPoint& point, std::string* out) {
  AppendCommon(metric, point, out);
  Signed("\"asInt\":\"", point.value, out);
  out->append("\"");
}

std::string_view KindBegin(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::kHistogram: return "\"exponentialHistogram\":{\"aggregationTemporality\":1,\"dataPoints\":[";
    case Metric::Kind::kCounter: return "\"sum\":{\"aggregationTemporality\":1,\"isMonotonic\":true,\"dataPoints\":[";
    case Metric::Kind::kUpDown: return "\"sum\":{\"aggregationTemporality\":2,\"dataPoints\":[";
    case Metric::Kind::kGauge: return "\"gauge\":{\"dataPoints\":[";
  }
  return {};
}

}  // namespace

JsonMetricEncoder::JsonMetricEncoder(const Resource& resource, const MetricRequestLimits& limits)
    : MetricEncoder(limits) {
  JsonAttributes attributes(kResourceAttributes);
  resource.AppendTo(&attributes);
  head_.append("{\"resourceMetrics\":[{\"resource\":{\"attributes\":[").append(attributes.view());
  CloseList(&head_);
  head_.append("},\"scopeMetrics\":[{\"scope\":{\"name\":\"").append(kScopeName);
  head_.append("\",\"version\":\"").append(kVersion).append("\"},\"metrics\":[");
}

size_t JsonMetricEncoder::HeadBytes() const { return head_.size() + kTail.size(); }

size_t JsonMetricEncoder::MetricBytes(const Metric& metric) const {
  // An escaped byte is six.
  return kMetricBytes + 6 * (metric.name.size() + metric.description.size() + metric.unit.size());
}

MetricEncoder::PointSize JsonMetricEncoder::SizeOf(const Metric& metric, const MetricPoint& point) const {
  size_t size = kPointBytes + point.attributes.size();
  if (metric.kind == Metric::Kind::kHistogram) size += point.histogram->buckets().size() * kBucketBytes;
  if (point.exemplar != nullptr) size += kExemplarBytes;
  return {size, 0};
}

std::string_view JsonMetricEncoder::Write(const std::vector<Slice>& slices) {
  out_ = head_;
  for (const Slice& slice : slices) {
    const Metric& metric = *slice.metric;
    Text("{\"name\":\"", metric.name, &out_);
    Text("\",\"description\":\"", metric.description, &out_);
    Text("\",\"unit\":\"", metric.unit, &out_);
    out_.append("\",").append(KindBegin(metric.kind));
    for (size_t i = 0; i < slice.count; ++i) {
      out_.push_back('{');
      if (metric.kind == Metric::Kind::kHistogram) {
        AppendHistogram(metric, slice.point(i), &out_);
      } else {
        AppendNumber(metric, slice.point(i), &out_);
      }
      out_.append("},");
    }
    CloseList(&out_);
    out_.append("}},");
  }
  out_.pop_back();
  out_.append(kTail);
  return out_;
}

}  // namespace ferret::otlp
