// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/pair_placement.h"

#include <algorithm>
#include <cmath>

namespace ferret::internal {
namespace {

// Up to here a duration is scaled by the slope of the last seconds; beyond, both ends are placed for themselves. The slope
// is better than that of two anchors that may be close together.
constexpr int64_t kLongNs = 500'000'000;

PlacedPair PlaceAlone(const DeviceClock& clock, const PassedPair& passed) {
  const SubmittedPair& pair = passed.pair;
  PlacedPair placed;
  if (!passed.located || clock.empty()) {
    // Somewhere between its launch and the look that found it passed: most likely it was not kept waiting.
    placed.start_ns = pair.begin_ns;
    placed.end_ns = pair.begin_ns + passed.duration_ns;
    placed.error_ns = std::max<int64_t>(0, passed.seen_ns - placed.end_ns);
    return placed;
  }
  const DeviceClock::Place end = clock.At(passed.device_end_ns, pair.end_ns, passed.seen_ns);
  placed.end_ns = end.cpu_ns;
  placed.error_ns = end.error_ns + passed.step_ns + passed.duration_step_ns;
  // Scaled by a slope that is not quite known.
  placed.error_ns += std::llround(static_cast<double>(std::min(passed.duration_ns, kLongNs)) * clock.slope_error());
  if (passed.duration_ns <= kLongNs) {
    placed.start_ns = end.cpu_ns - std::llround(static_cast<double>(passed.duration_ns) * clock.slope());
  } else {
    const DeviceClock::Place start =
        clock.At(passed.device_end_ns - passed.duration_ns, pair.begin_ns, passed.seen_ns);
    placed.start_ns = std::min(start.cpu_ns, end.cpu_ns);
    placed.error_ns = std::max(start.error_ns, end.error_ns) + passed.step_ns + passed.duration_step_ns;
  }
  return placed;
}

// How much too early it lies; negative: how much earlier it could lie.
int64_t TooEarly(const PassedPair& passed, const PlacedPair& placed) {
  const int64_t end_ns = passed.pair.end_ns - placed.end_ns;
  // The beginning of a long one was placed by other anchors, and says nothing of its end.
  return passed.duration_ns > kLongNs ? end_ns : std::max(passed.pair.begin_ns - placed.start_ns, end_ns);
}

void Move(const PassedPair& passed, int64_t shift_ns, PlacedPair* placed, PlacementCounts* counts) {
  const int64_t early_ns = TooEarly(passed, *placed);
  const int64_t error_ns = placed->error_ns;
  // No further than it may be wrong: others may have been placed by worse anchors.
  shift_ns = passed.located ? std::min(shift_ns, error_ns) : 0;
  // By itself, where even the common shift is not enough: what is certain is certain.
  if (early_ns > shift_ns) {
    shift_ns = early_ns;
    ++counts->suspect;
  }
  placed->start_ns += shift_ns;
  placed->end_ns += shift_ns;
  placed->error_ns = std::max(error_ns - shift_ns, std::min(error_ns, -early_ns) + shift_ns);
  bool moved = early_ns > 0 || placed->start_ns < passed.pair.begin_ns;
  placed->start_ns = std::max(placed->start_ns, passed.pair.begin_ns);
  placed->end_ns = std::max(placed->end_ns, placed->start_ns);
  if (const int64_t late_ns = placed->end_ns - passed.seen_ns; late_ns > 0) {
    moved = true;
    counts->suspect += late_ns > placed->error_ns;
    const int64_t room_ns = std::max<int64_t>(0, placed->start_ns - passed.pair.begin_ns);
    placed->start_ns -= std::min(late_ns, room_ns);
    placed->end_ns = std::max(placed->start_ns, passed.seen_ns);
  }
  counts->moved += moved;
  placed->error_ns = std::clamp<int64_t>(placed->error_ns, 0, std::max<int64_t>(0, passed.seen_ns - passed.pair.begin_ns));
}

}  // namespace

std::vector<PlacedPair> PlacePairs(const DeviceClock& clock, const std::vector<PassedPair>& pairs,
                                   PlacementCounts* counts) {
  std::vector<PlacedPair> placed;
  placed.reserve(pairs.size());
  int64_t shift_ns = 0;
  for (const PassedPair& pair : pairs) {
    placed.push_back(PlaceAlone(clock, pair));
    const int64_t early_ns = TooEarly(pair, placed.back());
    // One whose place is only a guess says nothing of the others.
    if (pair.located && early_ns <= placed.back().error_ns) shift_ns = std::max(shift_ns, early_ns);
  }
  for (size_t i = 0; i < pairs.size(); ++i) Move(pairs[i], shift_ns, &placed[i], counts);
  return placed;
}

}  // namespace ferret::internal
