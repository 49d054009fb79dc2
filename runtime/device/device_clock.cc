// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/device_clock.h"

#include <algorithm>
#include <cmath>

namespace ferret::internal {
namespace {

// Over how long the slope is measured: long enough for anchors of some µs, short enough to follow the temperature.
constexpr int64_t kSlopeSpanNs = 8'000'000'000;
// Better than taking the clocks to be equal: the bound is a worst case, of which most anchors stay well clear.
constexpr double kUsefulSlopeError = 200e-6;
// How far the clocks wander off a line, per unit of time to the nearest anchor. Real ones stay well below.
constexpr double kWanderFromLine = 1e-6;
// Up to which distance of two anchors that holds.
constexpr int64_t kLineNs = 5'000'000'000;

int64_t Scaled(int64_t ns, double factor) { return std::llround(static_cast<double>(ns) * factor); }

}  // namespace

bool DeviceClock::IsBreak(const Anchor& from, const Anchor& to) const {
  const double device = static_cast<double>(to.device_ns - from.device_ns);
  const double cpu = static_cast<double>(to.cpu_ns - from.cpu_ns);
  if (device <= 0) return true;
  const double unsure = static_cast<double>(from.half_ns + to.half_ns + 2 * kStampStepNs) / device;
  const double off = std::abs(cpu / device - slope_);
  return off > unsure + std::min(slope_error_ + kMostWander, kMostDrift);
}

void DeviceClock::Add(int64_t device_ns, int64_t before_ns, int64_t after_ns) {
  Anchor anchor{device_ns, before_ns + (after_ns - before_ns) / 2, (after_ns - before_ns + 1) / 2, 0};
  if (!anchors_.empty() && IsBreak(anchors_.back(), anchor)) ++breaks_;
  anchor.breaks = breaks_;
  anchors_.Add(anchor, [](const Anchor&) {});
  LearnSlope();
}

// From the last anchor to the earliest one within the span, on this side of any break.
void DeviceClock::LearnSlope() {
  const Anchor& last = anchors_.back();
  const Anchor* first = &last;
  for (size_t i = anchors_.size(); i-- > 0;) {
    if (last.device_ns - anchors_[i].device_ns > kSlopeSpanNs && first != &last) break;
    if (anchors_[i].breaks != last.breaks) break;
    first = &anchors_[i];
  }
  const double span = static_cast<double>(last.device_ns - first->device_ns);
  if (span <= 0) return;
  const double error = static_cast<double>(first->half_ns + last.half_ns + kStampStepNs) / span;
  if (error > kUsefulSlopeError) return;
  slope_ = static_cast<double>(last.cpu_ns - first->cpu_ns) / span;
  slope_error_ = error;
}

DeviceClock::Place DeviceClock::From(const Anchor& anchor, int64_t device_ns) const {
  const int64_t distance = device_ns - anchor.device_ns;
  Place place;
  place.cpu_ns = anchor.cpu_ns + Scaled(distance, slope_);
  place.error_ns = anchor.half_ns + kStampStepNs + Scaled(std::abs(distance), slope_error_ + kWanderFromLine);
  return place;
}

DeviceClock::Place DeviceClock::At(int64_t device_ns, int64_t earliest_ns, int64_t latest_ns) const {
  const auto after = std::upper_bound(anchors_.begin(), anchors_.end(), device_ns,
                                      [](int64_t ns, const Anchor& anchor) { return ns < anchor.device_ns; });
  if (after == anchors_.begin()) return From(*after, device_ns);
  const Anchor& left = *(after - 1);
  if (after == anchors_.end()) return From(left, device_ns);
  const Anchor& right = *after;
  if (right.breaks != left.breaks) {
    const Place from_left = From(left, device_ns);
    Place place = From(right, device_ns);
    const bool possible = place.cpu_ns + place.error_ns >= earliest_ns && place.cpu_ns - place.error_ns <= latest_ns;
    const int64_t apart = std::abs(from_left.cpu_ns - place.cpu_ns);
    if (!possible) place = from_left;
    place.cpu_ns = std::clamp(place.cpu_ns, earliest_ns, std::max(earliest_ns, latest_ns));
    // Where it was on neither side, all that is certain is what the other reasons say.
    place.error_ns = std::max(place.error_ns, std::min(apart, std::max<int64_t>(0, latest_ns - earliest_ns)));
    return place;
  }
  const double part = static_cast<double>(device_ns - left.device_ns) /
                      static_cast<double>(right.device_ns - left.device_ns);
  Place place;
  place.cpu_ns = left.cpu_ns + Scaled(right.cpu_ns - left.cpu_ns, part);
  const int64_t nearest = std::min(device_ns - left.device_ns, right.device_ns - device_ns);
  // Between anchors that are far apart the ratio may have been another one here than there.
  const double wander = right.device_ns - left.device_ns > kLineNs ? kMostWander : kWanderFromLine;
  place.error_ns = std::max(left.half_ns, right.half_ns) + kStampStepNs + Scaled(nearest, wander);
  return place;
}

}  // namespace ferret::internal
