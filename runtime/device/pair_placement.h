// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where pairs of marks lie on the CPU's clock.
//
// What is known for certain of each pair: the device got to the first mark only after it was put, the same of the second,
// and it had passed both when the CPU saw so. Where the clocks' relation says otherwise it is wrong, within its error, and
// for all pairs that are placed by the same anchors alike: they are all moved by what the worst of them needs, so that
// their order stays what it was.

#ifndef FERRET_RUNTIME_DEVICE_PAIR_PLACEMENT_H_
#define FERRET_RUNTIME_DEVICE_PAIR_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "runtime/device/device_clock.h"
#include "runtime/device/device_timer.h"

namespace ferret::internal {

// A pair whose marks are both in the stream. Times are those of the CPU, in the session's ns.
struct SubmittedPair {
  PairId pair = 0;
  uint32_t place = 0;    // of the stream in the pair's domain
  int64_t begin_ns = 0;  // just before the first mark was put into the stream
  int64_t end_ns = 0;    // and the second
  uint64_t token = 0;    // the submitter's, returned with the result
};

// One that the device has passed.
struct PassedPair {
  SubmittedPair pair;
  int64_t seen_ns = 0;           // when the CPU saw it
  int64_t duration_ns = 0;       // by the device's clock
  int64_t duration_step_ns = 0;  // and how far off that may be
  bool located = false;          // whether what follows is known
  int64_t device_end_ns = 0;     // on the device's clock, as DeviceClock counts it
  int64_t step_ns = 0;
};

struct PlacedPair {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t error_ns = 0;  // either may be off by this much
};

struct PlacementCounts {
  uint64_t moved = 0;    // that would have started before their launch, or ended after they were seen
  uint64_t suspect = 0;  // by more than the error that was expected
};

// One for each of `pairs`, in their order.
std::vector<PlacedPair> PlacePairs(const DeviceClock& clock, const std::vector<PassedPair>& pairs,
                                   PlacementCounts* counts);

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_PAIR_PLACEMENT_H_
