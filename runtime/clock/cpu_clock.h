// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the machine: which one records are stamped with, and how it is tied to Unix time.
//
// Records carry raw ticks: the cycle counter where it is invariant and the kernel trusts it, else CLOCK_MONOTONIC.
// Output carries Unix nanoseconds of the session's own clock: CLOCK_MONOTONIC plus an offset that is read once, at the
// start, so that a wall clock that is set or slewed meanwhile moves nothing.

#ifndef FERRET_RUNTIME_CLOCK_CPU_CLOCK_H_
#define FERRET_RUNTIME_CLOCK_CPU_CLOCK_H_

#include <cstdint>
#include <string>

#include "runtime/clock/clock_map.h"

namespace ferret {

enum class ClockChoice : uint8_t { kAuto, kCycleCounter, kMonotonic };

// Whether the cycle counter of this machine is fit to be a clock, and if not, why (one line).
struct CycleCounterFitness {
  bool fit = false;
  std::string reason;
};
CycleCounterFitness CheckCycleCounter();
// The decision from its inputs, for tests: the processor's promise and the kernel's current clock source.
CycleCounterFitness JudgeCycleCounter(bool invariant, const std::string& kernel_clock_source);

// The stamping clock, now: the cycle counter, or CLOCK_MONOTONIC in ns.
uint64_t ReadTicks(bool cycle_counter);
int64_t MonotonicNs();

// Unix ns minus CLOCK_MONOTONIC ns, now.
int64_t WallOffsetNs();

// Reads both clocks as close together as it can: the narrowest of `tries` readings.
Anchor ReadAnchor(bool cycle_counter, int64_t wall_offset_ns, int tries);

// The rate of the stamping clock in ns per tick from two anchors half a millisecond apart. Exactly 1 for the
// monotonic clock.
ClockMap StartClockMap(bool cycle_counter, int64_t wall_offset_ns);

}  // namespace ferret

#endif  // FERRET_RUNTIME_CLOCK_CPU_CLOCK_H_
