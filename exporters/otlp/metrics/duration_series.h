// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DurationSeries: how long operators, kernels, steps and phases took, since the last time somebody asked.
//
//     for each interval: Record… (and SetExemplar, for spans that turn out to be kept), Collect, encode, Reset
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_DURATION_SERIES_H_
#define FERRET_EXPORTERS_OTLP_METRICS_DURATION_SERIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "exporters/otlp/spans/event_attributes.h"
#include "exporters/otlp/metrics/series_set.h"
#include "ferret/function_event.h"

namespace ferret::otlp {

class DurationSeries {
 public:
  enum class Kind : uint8_t { kOp, kKernel, kStep, kPhase };
  static constexpr size_t kKinds = 4;
  // A series, as long as it is remembered. The default one is none.
  struct Id {
    Kind kind = Kind::kOp;
    SeriesSet::Id series;
  };

  // The limits are each metric's. The first interval begins at start_ns, Unix time.
  DurationSeries(Form form, int64_t start_ns, const SeriesLimits& limits = {});

  // A scope on the CPU.
  Id RecordOp(const FunctionEvent& event) {
    return {Kind::kOp, Set(Kind::kOp).Record(event.name, event.name_id, 0, event.duration_ns(),
                                             [&] { return DescribeOp(event.name); })};
  }
  // Work on a device: a kernel, a copy, a set.
  Id RecordKernel(const FunctionEvent& event) {
    const uint64_t tag = ActivityOf(event) << 16 | static_cast<uint16_t>(event.device_index);
    return {Kind::kKernel, Set(Kind::kKernel).Record(event.name, event.name_id, tag, event.duration_ns(),
                                                     [&] { return DescribeKernel(event); })};
  }
  Id RecordStep(int64_t duration_ns) {
    return {Kind::kStep, Set(Kind::kStep).Record({}, 0, 0, duration_ns, [] { return std::string(); })};
  }
  // `phase` is any text of the caller's: "forward".
  Id RecordPhase(std::string_view phase, int64_t duration_ns) {
    return {Kind::kPhase, Set(Kind::kPhase).Record(phase, 0, 0, duration_ns, [&] { return DescribePhase(phase); })};
  }

  // The span of a value that Record was given in this interval is in the traces. Of several the longest is told; one of
  // an interval that is over, or of a series that is forgotten, is none.
  void SetExemplar(const Id& id, const Exemplar& exemplar) { Set(id.kind).SetExemplar(id.series, exemplar); }

  // What was recorded since the interval began, until time_ns; metrics without values are left out. It lives until the
  // next call.
  const std::vector<Metric>& Collect(int64_t time_ns);
  // Ends the interval at the time of the last Collect, and begins the next one.
  void Reset();

  size_t series(Kind kind) const { return sets_[static_cast<size_t>(kind)].series(); }
  // Values that went to a series with otel.metric.overflow, since the beginning.
  uint64_t overflowed() const;
  size_t bytes() const;

 private:
  // Different exactly if ActivityText is.
  static uint64_t ActivityOf(const FunctionEvent& event) {
    if (event.is_user_annotation) return static_cast<uint64_t>(ActivityType::kGpuUserAnnotation);
    switch (event.activity_type) {
      case ActivityType::kGpuUserAnnotation:
      case ActivityType::kGpuMemcpy:
      case ActivityType::kGpuMemset: return static_cast<uint64_t>(event.activity_type);
      default: return static_cast<uint64_t>(ActivityType::kKernel);
    }
  }
  SeriesSet& Set(Kind kind) { return sets_[static_cast<size_t>(kind)]; }
  std::string DescribeOp(std::string_view name) const;
  std::string DescribeKernel(const FunctionEvent& event) const;
  std::string DescribePhase(std::string_view phase) const;

  const Form form_;
  std::array<SeriesSet, kKinds> sets_;  // by Kind
  int64_t start_ns_;
  int64_t time_ns_;
  std::vector<Metric> metrics_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_DURATION_SERIES_H_
