// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/clock/clock_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ferret {
namespace {

// The slope is taken over so many anchors: long enough that the error of a reading does not matter, short enough to
// follow a clock that is being steered.
constexpr size_t kSlopeAnchors = 8;
// A slope that changes by more than this between anchors is no drift.
constexpr double kMaxSlopeChange = 1e-3;
// No correction bends the map by more than this.
constexpr double kMaxSlew = 0.1;

uint64_t Fixed(double ns_per_tick) { return static_cast<uint64_t>(std::llround(ns_per_tick * 4294967296.0)); }

}  // namespace

ClockMap::ClockMap(const Anchor& first, double ns_per_tick) : ns_per_tick_(ns_per_tick) {
  Append({first.source, first.target_ns, Fixed(ns_per_tick)});
  recent_.push_back(first);
}

ClockMap::ClockMap(std::vector<Segment> segments, double ns_per_tick)
    : segments_(std::move(segments)), ns_per_tick_(ns_per_tick), segments_made_(segments_.size()) {
  TakeAtHand(segments_.size() - 1);
  recent_.push_back({segments_.back().source, segments_.back().target_ns, 0});
}

void ClockMap::Add(const Anchor& anchor) {
  const Anchor& last = recent_.back();
  if (anchor.source <= last.source) {
    // The counter was reset. An equal reading tells nothing.
    if (anchor.source < last.source) Reset(anchor);
    return;
  }
  if (anchor.source < segments_.back().source) {
    // The map stands still (see Step) and is where it should be when it goes on.
    Remember(anchor);
    return;
  }
  const Anchor& base = recent_.front();
  const double slope = static_cast<double>(anchor.target_ns - base.target_ns) /
                       static_cast<double>(anchor.source - base.source);
  const int64_t predicted = ToNs(anchor.source);
  const int64_t error = anchor.target_ns - predicted;
  const double interval = static_cast<double>(anchor.source - last.source);
  // Two readings' own errors may look like a change of slope when they are close together.
  const double noise = static_cast<double>(anchor.error_ns + last.error_ns) / (interval * ns_per_tick_);
  const bool drifted = std::abs(slope / ns_per_tick_ - 1) > kMaxSlopeChange + noise;
  if (std::abs(error) > kMaxSlewNs || slope <= 0 || (drifted && recent_.size() > 2)) {
    Step(anchor);
    return;
  }
  largest_error_ns_ = std::max(largest_error_ns_, std::abs(error));
  ns_per_tick_ = slope;
  const double slew = std::clamp(static_cast<double>(error) / interval, -kMaxSlew * slope, kMaxSlew * slope);
  Append({anchor.source, predicted, Fixed(slope + slew)});
  Remember(anchor);
}

void ClockMap::TakeAtHand(size_t index) const {
  const Segment& segment = segments_[index];
  const uint64_t end = index + 1 < segments_.size() ? segments_[index + 1].source : UINT64_MAX;
  at_hand_ = {segment, end - segment.source};
}

int64_t ClockMap::ToNsElsewhere(uint64_t source) const {
  auto after = std::upper_bound(segments_.begin(), segments_.end(), source,
                                [](uint64_t value, const Segment& segment) { return value < segment.source; });
  if (after == segments_.begin()) {
    return after->target_ns - Scale(after->source - source, after->slope);
  }
  const Segment& segment = *(after - 1);
  TakeAtHand(static_cast<size_t>(after - 1 - segments_.begin()));
  return segment.target_ns + Scale(source - segment.source, segment.slope);
}

void ClockMap::Append(const Segment& segment) {
  if (segments_.size() == kMaxSegments) segments_.erase(segments_.begin(), segments_.begin() + kMaxSegments / 2);
  segments_.push_back(segment);
  ++segments_made_;
  TakeAtHand(segments_.size() - 1);
}

void ClockMap::Remember(const Anchor& anchor) {
  recent_.push_back(anchor);
  if (recent_.size() > kSlopeAnchors) recent_.erase(recent_.begin());
}

// A step forward keeps the past; a step back would make time run backwards, so the map stands still there until the
// target clock has caught up.
void ClockMap::Step(const Anchor& anchor) {
  ++steps_;
  const int64_t said = ToNs(anchor.source);
  const int64_t ahead = said - anchor.target_ns;
  if (ahead > 0) {
    Append({anchor.source, said, 0});
    const auto ticks = static_cast<uint64_t>(static_cast<double>(ahead) / ns_per_tick_);
    Append({anchor.source + ticks, said, Fixed(ns_per_tick_)});
  } else {
    Append({anchor.source, anchor.target_ns, Fixed(ns_per_tick_)});
  }
  recent_.assign(1, anchor);
}

void ClockMap::Reset(const Anchor& anchor) {
  ++steps_;
  ++segments_made_;
  segments_.assign(1, {anchor.source, anchor.target_ns, Fixed(ns_per_tick_)});
  TakeAtHand(0);
  recent_.assign(1, anchor);
}

}  // namespace ferret
