// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// NestingLane: which intervals a track has, so that on each track any two are apart or one is inside the other.
//
// Intervals come in any order. As those of one stream come roughly by their ends, an outer one comes after what is
// inside of it. Memory is bounded: beyond `most` intervals the older ones lose what is known of their inside, and then
// older neighbours count as one. An interval that may cross something that was forgotten is refused, so what is placed
// always nests; what it costs is that an outer interval with more than `most` inside may be refused needlessly.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_NESTING_LANE_H_
#define FERRET_EXPORTERS_CHROME_TRACE_NESTING_LANE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferret::chrome_trace {

class NestingLane {
 public:
  explicit NestingLane(size_t most) : most_(std::max<size_t>(most, 8)) {}

  // As if there were things unknown up to the end.
  void Block(int64_t end) { spans_.assign(1, {INT64_MIN, end, end, true, false}); }

  // False if [start, end) would cross something, or might. `end` is not before `start`.
  bool Place(int64_t start, int64_t end) {
    if (spans_.empty() || (start > spans_.back().start && start >= spans_.back().latest_end)) {
      // Behind everything, as most are.
      spans_.push_back({start, end, end, false, false});
      if (spans_.size() > most_) Compact();
      return true;
    }
    const auto place = std::lower_bound(spans_.begin(), spans_.end(), start, [end](const Span& span, int64_t begin) {
      return span.start < begin || (span.start == begin && span.end > end);
    });
    // What starts before it is over by then, or goes on until it ends.
    for (auto span = place; span != spans_.begin();) {
      --span;
      if (span->latest_end <= start) break;
      if (span->end > start && (span->end < end || span->is_solid)) return false;
    }
    // What starts inside ends inside.
    bool is_outer = false;
    for (auto span = place; span != spans_.end() && span->start < end; ++span) {
      if (span->end > end) return false;
      is_outer = true;
    }
    const size_t index = static_cast<size_t>(place - spans_.begin());
    spans_.insert(place, {start, end, end, false, is_outer});
    SetLatestEnds(index);
    if (spans_.size() > most_) Compact();
    return true;
  }

  size_t size() const { return spans_.size(); }
  int64_t latest_end() const { return spans_.empty() ? INT64_MIN : spans_.back().latest_end; }

 private:
  struct Span {
    int64_t start;
    int64_t end;
    int64_t latest_end;  // of this one and all before it
    bool is_solid;       // what is inside of it is not known any more
    bool is_outer;       // something is, or was, inside of it
  };

  void SetLatestEnds(size_t from) {
    int64_t latest = from == 0 ? INT64_MIN : spans_[from - 1].latest_end;
    for (size_t i = from; i < spans_.size(); ++i) {
      latest = std::max(latest, spans_[i].end);
      spans_[i].latest_end = latest;
    }
  }

  // Leaves the newest quarter as it is.
  void Compact() {
    const size_t old = spans_.size() - most_ / 4;
    std::vector<Span> kept;
    for (size_t i = 0; i < old; ++i) {
      // In the order of their starts, outer ones first: inside of the last one that was kept, or behind it.
      if (!kept.empty() && spans_[i].end <= kept.back().end) {
        kept.back().is_solid = true;
      } else {
        kept.push_back(spans_[i]);
      }
    }
    // Outer intervals are not mixed with what stands beside them, which the next outer one may begin with.
    if (kept.size() > most_ / 2) Merge(false, &kept);
    if (kept.size() > most_ / 2) Merge(true, &kept);
    kept.insert(kept.end(), spans_.begin() + static_cast<std::ptrdiff_t>(old), spans_.end());
    spans_ = std::move(kept);
    SetLatestEnds(0);
  }

  // Each two neighbours into one.
  static void Merge(bool unlike_ones_too, std::vector<Span>* spans) {
    size_t count = 0;
    for (size_t i = 0; i < spans->size(); ++count) {
      Span span = (*spans)[i++];
      if (i < spans->size() && (unlike_ones_too || (*spans)[i].is_outer == span.is_outer)) {
        const Span& next = (*spans)[i++];
        span.end = std::max(span.end, next.end);
        span.is_outer |= next.is_outer;
        span.is_solid = true;
      }
      (*spans)[count] = span;
    }
    spans->resize(count);
  }

  size_t most_;
  std::vector<Span> spans_;  // by start, of those that start together the one that ends last first
};

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_NESTING_LANE_H_
