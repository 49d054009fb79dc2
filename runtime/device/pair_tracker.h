// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// PairTracker: follows the pairs of marks of a session from their recording to their place on the CPU's clock.
//
//     Submit ─► waiting, by stream ──passed──► located on the device's clock ──next anchor──► result
//                     │                                │
//                     └── failed, lost, silent for too long, given up: a result with a reason
//
// Only the oldest pair of each stream is asked for, so a pass costs one call for each stream that has any. Anchors are
// taken while there are pairs: often at first, then once a second. A pair is located against an anchor that is near it,
// since the driver's numbers become coarse over a distance (half a microsecond over 4 s, 250 µs over an hour).
//
// One thread at a time: the device thread's. It is the only one that calls the timer.

#ifndef FERRET_RUNTIME_DEVICE_PAIR_TRACKER_H_
#define FERRET_RUNTIME_DEVICE_PAIR_TRACKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ferret/device_loss.h"
#include "ferret/event_batch.h"
#include "runtime/device/anchor_line.h"
#include "runtime/device/device_port.h"
#include "runtime/device/device_timer.h"
#include "runtime/device/pair_placement.h"

namespace ferret::internal {

class PairTracker {
 public:
  struct Config {
    int64_t shortest_anchor_interval_ns = 20'000'000;
    int64_t longest_anchor_interval_ns = 1'000'000'000;
    // A stream on which nothing moves for so long is given up: it was destroyed, or its device hangs.
    int64_t longest_silence_ns = 60'000'000'000;
    // What the device has passed is placed without a further anchor if none is to be had for so long.
    int64_t longest_anchor_wait_ns = 10'000'000'000;
  };
  struct Counts {
    uint64_t negative = 0;  // pairs that ended before they began, by the driver's numbers: shown as empty
    PlacementCounts placement;
    uint64_t breaks = 0;    // of the ratio of the clocks
    uint64_t anchors = 0;
    uint64_t anchor_tries = 0;  // marks that were put for them
  };

  // `now`: the session's ns.
  PairTracker(const Config& config, DeviceTimer* timer, std::function<int64_t()> now);

  void Submit(const SubmittedPair& pair);
  // Asks the device. With `settle` an anchor is taken now, so that all that is over gets its place in this pass or, if
  // the anchor is held up, in one of the next. True if anything moved.
  bool Pass(bool settle, DeviceOutput* out);
  // Gives up what is left. Calls nothing of the timer that asks the device: what has been located is placed as well as
  // it can be without another anchor.
  void GiveUp(DeviceOutput* out);
  // Whether everything that was submitted has a result.
  bool idle() const { return waiting_ == 0; }

  Counts counts() const;

 private:
  struct Stream {
    std::deque<SubmittedPair> waiting;
    int64_t moved_ns = 0;  // when it last did
  };
  struct Domain {
    explicit Domain(uint32_t number, DeviceTimer* timer) : id(number), line(number, timer) {}
    const uint32_t id;
    AnchorLine line;
    std::map<uint32_t, Stream> streams;      // that have pairs
    std::map<uint32_t, int32_t> described;  // number of each stream that was announced
    std::vector<PassedPair> passed;
    DeviceInfo info;
    int64_t shown = 0;
    int64_t next_anchor_ns = INT64_MIN;
    int64_t anchor_interval_ns = 0;
    bool lost = false;
  };

  Domain& DomainFor(uint32_t id);
  bool PassDomain(Domain& domain, bool settle, DeviceOutput* out);
  bool PollStreams(Domain& domain, DeviceOutput* out);
  void OnPassed(Domain& domain, const SubmittedPair& pair, DeviceOutput* out);
  void Locate(Domain& domain, PassedPair* passed);
  void KeepAnchors(Domain& domain, bool settle, bool waiting);
  // Gives their place to those that lie between two anchors, or have waited for one for too long, or to all.
  void Resolve(Domain& domain, bool all, DeviceOutput* out);
  void Lose(Domain& domain, DeviceOutput* out);
  void Fail(const SubmittedPair& pair, DeviceLoss reason, DeviceOutput* out);
  void Timed(Domain& domain, const SubmittedPair& pair, const PlacedPair& placed, DeviceOutput* out);

  const Config config_;
  DeviceTimer* const timer_;
  const std::function<int64_t()> now_;
  std::vector<std::unique_ptr<Domain>> domains_;  // by id - 1
  std::vector<int16_t> devices_;                  // that were described
  uint64_t waiting_ = 0;                          // submitted without a result
  Counts counts_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_PAIR_TRACKER_H_
