// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/metrics/series_set.h"

#include <algorithm>

namespace ferret::otlp {
namespace {

// The name table bounds the ids; this bounds the array all the same.
constexpr uint32_t kMostIds = uint32_t{1} << 20;

}  // namespace

SeriesSet::SeriesSet(Form form, const SeriesLimits& limits) : limits_(limits) {
  series_.push_back(std::make_unique<Series>());
  series_[0]->attributes =
      AttributeList(form, kHistogramAttributes, [](auto* out) { out->Bool("otel.metric.overflow", true); });
}

uint32_t SeriesSet::FindSlot(std::string_view name, uint32_t name_id, uint64_t tag,
                             absl::FunctionRef<std::string()> describe) {
  uint32_t slot = 0;
  const auto known = slots_.find(Key(tag, name));
  if (known != slots_.end()) {
    slot = known->second;
  } else {
    if (slots_.size() >= limits_.most_series || name.size() > limits_.most_name_bytes - name_bytes_) return 0;
    auto series = std::make_unique<Series>();
    series->attributes = describe();
    if (name.size() + series->attributes.size() > limits_.most_name_bytes - name_bytes_) return 0;
    series->name = name;
    series->tag = tag;
    series->serial = ++serials_;
    name_bytes_ += series->name_bytes();
    if (free_.empty()) {
      slot = static_cast<uint32_t>(series_.size());
      series_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_.emplace(Key(tag, series->name), slot);
    series_[slot] = std::move(series);
  }
  if (name_id != 0 && name_id < kMostIds) {
    if (name_id >= by_id_.size()) by_id_.resize(std::max<size_t>(size_t{name_id} + 1, by_id_.size() * 2));
    // With several tags the last one is found at once.
    by_id_[name_id] = slot;
    series_[slot]->name_id = name_id;
  }
  return slot;
}

void SeriesSet::SetExemplar(Id id, const Exemplar& exemplar) {
  if (id.slot >= series_.size() || series_[id.slot] == nullptr) return;
  Series& series = *series_[id.slot];
  if (series.serial != id.serial || series.histogram.empty()) return;
  const uint64_t value = exemplar.value_ns < 0 ? 0 : static_cast<uint64_t>(exemplar.value_ns);
  // A value of an interval that is over.
  if (value < series.histogram.min_ns() || value > series.histogram.max_ns()) return;
  if (series.has_exemplar && exemplar.value_ns <= series.exemplar.value_ns) return;
  series.exemplar = exemplar;
  series.has_exemplar = true;
}

void SeriesSet::AppendPoint(const Series& series, std::vector<MetricPoint>* points) {
  if (series.histogram.empty()) return;
  MetricPoint point;
  point.attributes = series.attributes;
  point.histogram = &series.histogram;
  if (series.has_exemplar) point.exemplar = &series.exemplar;
  points->push_back(point);
}

void SeriesSet::AppendPoints(std::vector<MetricPoint>* points) const {
  for (size_t slot = 1; slot < series_.size(); ++slot) {
    if (series_[slot] != nullptr) AppendPoint(*series_[slot], points);
  }
  AppendPoint(*series_[0], points);
}

void SeriesSet::Reset() {
  for (uint32_t slot = 0; slot < series_.size(); ++slot) {
    Series* const series = series_[slot].get();
    if (series == nullptr) continue;
    if (series->histogram.empty() && slot != 0) {
      slots_.erase(Key(series->tag, series->name));
      name_bytes_ -= series->name_bytes();
      series_[slot].reset();
      free_.push_back(slot);
      continue;
    }
    series->histogram.Clear();
    series->has_exemplar = false;
  }
}

size_t SeriesSet::bytes() const {
  size_t bytes = name_bytes_ + by_id_.capacity() * sizeof(uint32_t) + free_.capacity() * sizeof(uint32_t) +
                 series_.capacity() * sizeof(series_[0]) + slots_.capacity() * (sizeof(Key) + sizeof(uint32_t) + 1);
  for (const auto& series : series_) {
    if (series != nullptr) bytes += sizeof(Series) + series->histogram.bytes();
  }
  return bytes;
}

}  // namespace ferret::otlp
