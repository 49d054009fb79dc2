// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceClock: where a moment on a device's clock lies on the CPU's, and how wrong that may be.
//
//     CPU ns ^                 I   I: an anchor, a moment of the device that lies somewhere in an interval of the CPU's
//            |            . '
//            |       I '       between two anchors: the straight line through their middles
//            |   . '           before the first and after the last: the slope over the last few seconds
//            +--+----+---------+--> device ns, since the first anchor
//
// Two oscillators drift apart by up to some hundred millionths, but keep their ratio for seconds: a line through anchors
// that are a second apart is wrong by no more than the anchors are. Where the line between two anchors is too steep or too
// flat to be the oscillators' doing (a suspended machine, a clock that was set) a break is counted, and a moment between
// them is placed from the one side or the other.
//
// Unlike ClockMap, which converts as time goes on and never goes back, this one looks at both sides of a moment.
// Not thread-safe.

#ifndef FERRET_RUNTIME_DEVICE_DEVICE_CLOCK_H_
#define FERRET_RUNTIME_DEVICE_DEVICE_CLOCK_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/thinned_history.h"

namespace ferret::internal {

class DeviceClock {
 public:
  // What anchors and marks are stamped in steps of; older devices have 1 µs.
  static constexpr int64_t kStampStepNs = 1'000;
  // The ratio of the clocks is this far from 1 at most; and moves this far within a second or so.
  static constexpr double kMostDrift = 500e-6;
  static constexpr double kMostWander = 20e-6;
  static constexpr size_t kMostAnchors = 4096;

  // The moment `device_ns` lay between the two readings of the CPU's clock. In the order of device_ns.
  void Add(int64_t device_ns, int64_t before_ns, int64_t after_ns);
  bool empty() const { return anchors_.empty(); }
  // Of the last anchor.
  int64_t last_device_ns() const { return anchors_.back().device_ns; }

  struct Place {
    int64_t cpu_ns = 0;
    // The true moment is not further away.
    int64_t error_ns = 0;
  };
  // `earliest` and `latest`: between which it must lie, on the CPU's clock, for other reasons. Only looked at where a
  // break leaves a choice. There is at least one anchor.
  Place At(int64_t device_ns, int64_t earliest_ns, int64_t latest_ns) const;

  // CPU ns per device ns, as far as is known.
  double slope() const { return slope_; }
  double slope_error() const { return slope_error_; }
  uint64_t breaks() const { return breaks_; }

 private:
  struct Anchor {
    int64_t device_ns;
    int64_t cpu_ns;   // the middle
    int64_t half_ns;  // of the interval
    uint64_t breaks;  // before it
  };
  bool IsBreak(const Anchor& from, const Anchor& to) const;
  void LearnSlope();
  Place From(const Anchor& anchor, int64_t device_ns) const;

  ThinnedHistory<Anchor> anchors_{kMostAnchors};
  double slope_ = 1.0;
  double slope_error_ = kMostDrift;
  uint64_t breaks_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_CLOCK_H_
