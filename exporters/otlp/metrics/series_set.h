// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SeriesSet: the histograms of one metric, one for each name (and tag), as many as there is room for.
//
//     name id ──► slot ──► Series: name, tag, attributes, histogram, exemplar    (the common case: no hashing)
//     name × tag ──► slot                                                        (all others)
//     no room ──► slot 0, which has only otel.metric.overflow, and is counted
//
// Every interval begins without values. What had none in an interval is forgotten at its end, so that a run whose names
// change has room for new ones; memory is bounded by the number of series and by the bytes of their names.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_METRICS_SERIES_SET_H_
#define FERRET_EXPORTERS_OTLP_METRICS_SERIES_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "exporters/otlp/metrics/metric.h"

namespace ferret::otlp {

struct SeriesLimits {
  size_t most_series = 2000;
  size_t most_name_bytes = size_t{4} << 20;  // names and attributes of all of them
};

class SeriesSet {
 public:
  // Names one series for good: of one that is forgotten by now nothing is meant.
  struct Id {
    uint32_t slot = 0;
    uint64_t serial = 0;
  };

  SeriesSet(Form form, const SeriesLimits& limits);

  // Two calls with the same name and tag are of one series. `describe` gives its attributes, once.
  Id Record(std::string_view name, uint32_t name_id, uint64_t tag, int64_t ns,
            absl::FunctionRef<std::string()> describe) {
    uint32_t slot = 0;
    if (name_id != 0 && name_id < by_id_.size()) slot = by_id_[name_id];
    Series* series = series_[slot].get();
    // A slot may have become nobody's since, or another name's.
    if (__builtin_expect(slot == 0 || series == nullptr || series->name_id != name_id || series->tag != tag, 0)) {
      slot = FindSlot(name, name_id, tag, describe);
      series = series_[slot].get();
      if (slot == 0) ++overflowed_;
    }
    series->histogram.Record(ns);
    return {slot, series->serial};
  }

  // Of a value that was recorded in this interval. The greatest one stays.
  void SetExemplar(Id id, const Exemplar& exemplar);

  // All that have values, the overflow last. They live until the next call of Record or Reset.
  void AppendPoints(std::vector<MetricPoint>* points) const;
  // Begins an interval.
  void Reset();

  size_t series() const { return slots_.size(); }
  // Values of names for which there was no room, since the beginning.
  uint64_t overflowed() const { return overflowed_; }
  // What all of it takes, roughly.
  size_t bytes() const;

 private:
  using Key = std::pair<uint64_t, std::string_view>;  // tag, and the series' own name
  struct Series {
    std::string name;
    uint64_t tag = 0;
    uint32_t name_id = 0;
    bool has_exemplar = false;
    uint64_t serial = 0;
    std::string attributes;
    ExponentialHistogram histogram;
    Exemplar exemplar;

    size_t name_bytes() const { return name.size() + attributes.size(); }
  };

  uint32_t FindSlot(std::string_view name, uint32_t name_id, uint64_t tag,
                    absl::FunctionRef<std::string()> describe);
  static void AppendPoint(const Series& series, std::vector<MetricPoint>* points);

  const SeriesLimits limits_;
  std::vector<std::unique_ptr<Series>> series_;  // by slot; null where there is none
  std::vector<uint32_t> free_;                   // slots without a series
  absl::flat_hash_map<Key, uint32_t> slots_;
  std::vector<uint32_t> by_id_;  // slots by name id, and 0
  size_t name_bytes_ = 0;
  uint64_t serials_ = 0;
  uint64_t overflowed_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_METRICS_SERIES_SET_H_
