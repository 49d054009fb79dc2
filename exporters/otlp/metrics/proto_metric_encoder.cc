// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/proto_metric_encoder.h"

#include <cstring>

#include "exporters/otlp/spans/span.h"

namespace ferret::otlp {
namespace {

constexpr size_t kFixedFieldBytes = 9;
// Of an exemplar: its time, its value and its ids.
constexpr size_t kExemplarBytes = 2 * kFixedFieldBytes + (2 + sizeof(SpanId)) + (2 + sizeof(TraceId));
// In front of points and their metric: a tag and a length.
constexpr size_t kMostPrefix = 1 + kMaxVarintBytes;

uint64_t ZigZag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value < 0 ? -1 : 0);
}

char* PutLength(char* at, char tag, size_t size) {
  *at++ = tag;
  return PutVarint(at, size);
}
char* PutFixed64Field(char* at, uint32_t field, uint64_t value) {
  *at++ = Tag(field, kFixed64);
  return PutFixed64(at, value);
}
char* PutDoubleField(char* at, uint32_t field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return PutFixed64Field(at, field, bits);
}
// Numbers of 0 are left out, as is protobuf's way.
size_t SignedFieldBytes(int32_t value) { return value == 0 ? 0 : 1 + VarintBytes(ZigZag(value)); }
char* PutSignedField(char* at, uint32_t field, int32_t value) {
  if (value == 0) return at;
  *at++ = Tag(field, kVarint);
  return PutVarint(at, ZigZag(value));
}

std::string Field(uint32_t number, std::string_view bytes) {
  std::string field(FieldBytes(bytes.size()), '\0');
  PutField(field.data(), Tag(number, kBytes), bytes);
  return field;
}

// ExponentialHistogramDataPoint.Buckets.
size_t BucketsBytes(const ExponentialHistogram& histogram, size_t counts_bytes) {
  return SignedFieldBytes(histogram.offset()) + FieldBytes(counts_bytes);
}

// Both kinds of points, without their own tags and lengths.
size_t HistogramBytes(const MetricPoint& point, size_t counts_bytes) {
  const ExponentialHistogram& histogram = *point.histogram;
  size_t size = point.attributes.size() + 6 * kFixedFieldBytes;  // start, time, count, sum, min, max
  size += SignedFieldBytes(histogram.scale());
  if (histogram.zero_count() != 0) size += kFixedFieldBytes;
  if (!histogram.buckets().empty()) size += FieldBytes(BucketsBytes(histogram, counts_bytes));
  if (point.exemplar != nullptr) size += FieldBytes(kExemplarBytes);
  return size;
}
size_t NumberBytes(const MetricPoint& point) { return point.attributes.size() + 3 * kFixedFieldBytes; }

char* PutTimes(char* at, const Metric& metric) {
  at = PutFixed64Field(at, 2, UnixNano(metric.start_ns));
  return PutFixed64Field(at, 3, UnixNano(metric.time_ns));
}

char* PutExemplar(char* at, const Exemplar& exemplar) {
  at = PutLength(at, Tag(11, kBytes), kExemplarBytes);
  at = PutFixed64Field(at, 2, UnixNano(exemplar.time_ns));
  at = PutDoubleField(at, 3, exemplar.value());
  char id[sizeof(SpanId)];
  for (size_t i = 0; i < sizeof(id); ++i) id[i] = static_cast<char>(exemplar.span_id >> (56 - 8 * i));
  at = PutField(at, Tag(4, kBytes), {id, sizeof(id)});
  return PutField(at, Tag(5, kBytes), {exemplar.trace_id.data(), exemplar.trace_id.size()});
}

char* PutHistogram(char* at, const Metric& metric, const MetricPoint& point, size_t counts_bytes) {
  const ExponentialHistogram& histogram = *point.histogram;
  at = PutTimes(PutBytes(at, point.attributes), metric);
  at = PutFixed64Field(at, 4, histogram.count());
  at = PutDoubleField(at, 5, histogram.sum());
  at = PutSignedField(at, 6, histogram.scale());
  if (histogram.zero_count() != 0) at = PutFixed64Field(at, 7, histogram.zero_count());
  if (!histogram.buckets().empty()) {
    at = PutLength(at, Tag(8, kBytes), BucketsBytes(histogram, counts_bytes));
    at = PutSignedField(at, 1, histogram.offset());
    at = PutLength(at, Tag(2, kBytes), counts_bytes);
    for (const uint64_t count : histogram.buckets()) at = PutVarint(at, count);
  }
  if (point.exemplar != nullptr) at = PutExemplar(at, *point.exemplar);
  at = PutDoubleField(at, 12, histogram.min());
  return PutDoubleField(at, 13, histogram.max());
}

char* PutNumber(char* at, const Metric& metric, const MetricPoint& point) {
  at = PutTimes(at, metric);
  at = PutFixed64Field(at, 6, static_cast<uint64_t>(point.value));
  return PutBytes(at, point.attributes);
}

// What is behind the points in the message of a metric's kind: temporality, and whether it is monotonic.
std::string_view KindEnd(Metric::Kind kind) {
  static constexpr char kHistogramEnd[] = {Tag(2, kVarint), 1};
  static constexpr char kCounterEnd[] = {Tag(2, kVarint), 1, Tag(3, kVarint), 1};
  static constexpr char kUpDownEnd[] = {Tag(2, kVarint), 2};
  switch (kind) {
    case Metric::Kind::kHistogram: return {kHistogramEnd, sizeof(kHistogramEnd)};
    case Metric::Kind::kCounter: return {kCounterEnd, sizeof(kCounterEnd)};
    case Metric::Kind::kUpDown: return {kUpDownEnd, sizeof(kUpDownEnd)};
    case Metric::Kind::kGauge: return {};
  }
  return {};
}

uint32_t KindField(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::kHistogram: return 10;
    case Metric::Kind::kCounter:
    case Metric::Kind::kUpDown: return 7;
    case Metric::Kind::kGauge: return 5;
  }
  return 5;
}

size_t TextsBytes(const Metric& metric) {
  return FieldBytes(metric.name.size()) + FieldBytes(metric.description.size()) + FieldBytes(metric.unit.size());
}

}  // namespace

ProtoMetricEncoder::ProtoMetricEncoder(const Resource& resource, const MetricRequestLimits& limits)
    : MetricEncoder(limits) {
  ProtoAttributes attributes(kResourceAttributes);
  resource.AppendTo(&attributes);
  resource_ = Field(1, attributes.view());
  scope_ = Field(1, Field(1, kScopeName) + Field(2, kVersion));
}

size_t ProtoMetricEncoder::HeadBytes() const { return 2 * kMostPrefix + resource_.size() + scope_.size(); }

size_t ProtoMetricEncoder::MetricBytes(const Metric& metric) const {
  return 2 * kMostPrefix + TextsBytes(metric) + KindEnd(metric.kind).size();
}

MetricEncoder::PointSize ProtoMetricEncoder::SizeOf(const Metric& metric, const MetricPoint& point) const {
  if (metric.kind != Metric::Kind::kHistogram) return {FieldBytes(NumberBytes(point)), 0};
  size_t counts = 0;
  for (const uint64_t count : point.histogram->buckets()) counts += VarintBytes(count);
  return {FieldBytes(HistogramBytes(point, counts)), counts};
}

std::string_view ProtoMetricEncoder::Write(const std::vector<Slice>& slices) {
  const auto data_bytes = [](const Slice& slice) { return slice.points_bytes + KindEnd(slice.metric->kind).size(); };
  const auto metric_bytes = [&](const Slice& slice) {
    return TextsBytes(*slice.metric) + FieldBytes(data_bytes(slice));
  };
  size_t scope_metrics = scope_.size();
  for (const Slice& slice : slices) scope_metrics += FieldBytes(metric_bytes(slice));
  const size_t resource_metrics = resource_.size() + FieldBytes(scope_metrics);

  out_.Clear();
  char* at = out_.Room(FieldBytes(resource_metrics));
  at = PutBytes(PutLength(at, Tag(1, kBytes), resource_metrics), resource_);
  at = PutBytes(PutLength(at, Tag(2, kBytes), scope_metrics), scope_);
  for (const Slice& slice : slices) {
    const Metric& metric = *slice.metric;
    at = PutLength(at, Tag(2, kBytes), metric_bytes(slice));
    at = PutField(at, Tag(1, kBytes), metric.name);
    at = PutField(at, Tag(2, kBytes), metric.description);
    at = PutField(at, Tag(3, kBytes), metric.unit);
    at = PutLength(at, Tag(KindField(metric.kind), kBytes), data_bytes(slice));
    for (size_t i = 0; i < slice.count; ++i) {
      const MetricPoint& point = slice.point(i);
      if (metric.kind == Metric::Kind::kHistogram) {
        const size_t counts = slice.sizes[i].buckets;
        at = PutLength(at, Tag(1, kBytes), HistogramBytes(point, counts));
        at = PutHistogram(at, metric, point, counts);
      } else {
        at = PutLength(at, Tag(1, kBytes), NumberBytes(point));
        at = PutNumber(at, metric, point);
      }
    }
    at = PutBytes(at, KindEnd(metric.kind));
  }
  out_.End(at);
  return out_.view();
}

}  // namespace ferret::otlp
