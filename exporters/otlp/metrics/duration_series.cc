// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/duration_series.h"

#include <algorithm>

#include "exporters/otlp/spans/span.h"
#include "runtime/text/json_text.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

struct Shown {
  std::string_view name;
  std::string_view description;
};

// By Kind.
constexpr Shown kShown[DurationSeries::kKinds] = {
    {"ferret.op.duration", "How long operators and other scopes took"},
    {"ferret.kernel.duration", "How long kernels, copies and sets ran on a device"},
    {"ferret.step.duration", "How long training steps took"},
    {"ferret.phase.duration", "How long the phases of training steps took"},
};

// As spans have names: what cannot be said exactly is beside it in hex, so names that differ stay different.
template <typename Attributes>
void PutName(std::string_view key, std::string_view name, Attributes* out) {
  out->Text(key, name.empty() ? kEmptyName : name);
  if (name.empty() || !IsUtf8(name)) out->Text(kNameHexKey, HexText(name));
}

}  // namespace

DurationSeries::DurationSeries(Form form, int64_t start_ns, const SeriesLimits& limits)
    : form_(form),
      sets_{SeriesSet(form, limits), SeriesSet(form, limits), SeriesSet(form, limits), SeriesSet(form, limits)},
      start_ns_(start_ns),
      time_ns_(start_ns) {}

std::string DurationSeries::DescribeOp(std::string_view name) const {
  return AttributeList(form_, kHistogramAttributes, [&](auto* out) { PutName("ferret.op.name", name, out); });
}

std::string DurationSeries::DescribeKernel(const FunctionEvent& event) const {
  return AttributeList(form_, kHistogramAttributes, [&](auto* out) {
    PutName("ferret.kernel.name", event.name, out);
    out->Text("ferret.activity", ActivityText(event));
    out->Int("ferret.device", event.device_index);
  });
}

std::string DurationSeries::DescribePhase(std::string_view phase) const {
  return AttributeList(form_, kHistogramAttributes, [&](auto* out) { PutName("ferret.phase", phase, out); });
}

const std::vector<Metric>& DurationSeries::Collect(int64_t time_ns) {
  time_ns_ = std::max(start_ns_, time_ns);
  metrics_.clear();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    Metric metric;
    metric.name = kShown[kind].name;
    metric.description = kShown[kind].description;
    metric.unit = "s";
    metric.kind = Metric::Kind::kHistogram;
    metric.start_ns = start_ns_;
    metric.time_ns = time_ns_;
    sets_[kind].AppendPoints(&metric.points);
    if (!metric.points.empty()) metrics_.push_back(std::move(metric));
  }
  return metrics_;
}

void DurationSeries::Reset() {
  metrics_.clear();
  start_ns_ = time_ns_;
  for (SeriesSet& set : sets_) set.Reset();
}

uint64_t DurationSeries::overflowed() const {
  uint64_t sum = 0;
  for (const SeriesSet& set : sets_) sum += set.overflowed();
  return sum;
}

size_t DurationSeries::bytes() const {
  size_t sum = 0;
  for (const SeriesSet& set : sets_) sum += set.bytes();
  return sum;
}

}  // namespace ferret::otlp
