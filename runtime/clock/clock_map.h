// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ClockMap: turns readings of one clock into another's, from anchors that arrive while the clocks run.
//
//     target ^              . (anchor)
//            |          __--'
//            |      _.-'   segments: continuous, never backwards
//            |  _.-'
//            +--+-------+------+--> source
//
// Each anchor starts a segment. It begins where the last one arrives there, so that what was converted before and what
// is converted afterwards agree, and is steered so that the difference to the anchor is gone one interval later. Only
// a difference beyond kMaxSlewNs (a suspended machine, a counter that was reset) makes a step, which is counted.
//
// Readings before the last segment are converted with the segment that held then; a bounded number is kept.
//
// Not thread-safe: one thread converts and adds.

#ifndef FERRET_RUNTIME_CLOCK_CLOCK_MAP_H_
#define FERRET_RUNTIME_CLOCK_CLOCK_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferret {

// One moment on both clocks. `error_ns` bounds how far apart the two readings may have been.
struct Anchor {
  uint64_t source = 0;
  int64_t target_ns = 0;
  int64_t error_ns = 0;
};

class ClockMap {
 public:
  static constexpr int64_t kMaxSlewNs = 1'000'000;
  static constexpr size_t kMaxSegments = 256;

  struct Segment {
    uint64_t source;
    int64_t target_ns;
    uint64_t slope;  // ns per tick, 32 fractional bits
  };

  // `ns_per_tick` holds until two anchors tell better.
  ClockMap(const Anchor& first, double ns_per_tick);
  // A map that says what another one said that had these segments; not empty, by source.
  ClockMap(std::vector<Segment> segments, double ns_per_tick);

  void Add(const Anchor& anchor);

  int64_t ToNs(uint64_t source) const {
    const uint64_t ticks = source - at_hand_.segment.source;
    if (ticks < at_hand_.ticks) return at_hand_.segment.target_ns + Scale(ticks, at_hand_.segment.slope);
    return ToNsElsewhere(source);
  }

  double ns_per_tick() const { return ns_per_tick_; }
  uint64_t steps() const { return steps_; }
  // Largest difference between an anchor and what the map said, since the start, in ns; steps not included.
  int64_t largest_error_ns() const { return largest_error_ns_; }

  // Those that are kept, and how many there have been.
  const std::vector<Segment>& segments() const { return segments_; }
  uint64_t segments_made() const { return segments_made_; }

 private:
  // A segment, and how long it holds. Readings come in runs.
  struct AtHand {
    Segment segment;
    uint64_t ticks;
  };

  static int64_t Scale(uint64_t ticks, uint64_t slope) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(ticks) * slope >> 32);
  }
  int64_t ToNsElsewhere(uint64_t source) const;
  void TakeAtHand(size_t index) const;
  void Append(const Segment& segment);
  void Remember(const Anchor& anchor);
  void Step(const Anchor& anchor);
  void Reset(const Anchor& anchor);

  std::vector<Segment> segments_;  // by source, never empty; after a step back the last one lies ahead
  mutable AtHand at_hand_;         // one of them
  std::vector<Anchor> recent_;     // the last few, for the slope
  double ns_per_tick_;
  uint64_t segments_made_ = 0;
  uint64_t steps_ = 0;
  int64_t largest_error_ns_ = 0;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_CLOCK_CLOCK_MAP_H_
