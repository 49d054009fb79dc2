// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// AnchorLine: a domain's anchors in the order of time, and the places of other marks on the device's clock, found by
// their distance to one of them.
//
// The device's clock is counted from the first anchor, each further one by its distance to the one before. What is asked
// of the driver is always the time from an earlier mark to a later one; which one is earlier is known for certain: an
// anchor that had been seen to be passed before a mark was put, or that was put after the mark had been seen to be passed.
//
// Device thread only; all but the destructor inside a DomainGuard.

#ifndef FERRET_RUNTIME_DEVICE_ANCHOR_LINE_H_
#define FERRET_RUNTIME_DEVICE_ANCHOR_LINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/device/device_clock.h"
#include "runtime/device/device_timer.h"
#include "runtime/device/thinned_history.h"

namespace ferret::internal {

class AnchorLine {
 public:
  using Now = std::function<int64_t()>;
  // Numbers that are coarser than this are only used where there is nothing better.
  static constexpr int64_t kFineStepNs = 500;
  // With their marks: one near to each moment of a scope that lasts for hours.
  static constexpr size_t kMostAnchors = 512;

  AnchorLine(uint32_t domain, DeviceTimer* timer) : domain_(domain), timer_(timer) {}
  // Frees the marks.
  ~AnchorLine();
  AnchorLine(const AnchorLine&) = delete;
  AnchorLine& operator=(const AnchorLine&) = delete;

  enum class Taken : uint8_t { kYes, kHeldUp, kFailed };
  // The narrowest of a few. One that the device does not get to at once is held up: it is looked at again at the next
  // call, and counts with the wide interval that it has by then.
  Taken Take(const Now& now);

  struct Spot {
    int64_t device_ns = 0;
    int64_t step_ns = 0;  // it may be off by this much
  };
  // A mark that was put after the CPU time `put_ns`, and passed. False if no anchor before it is known.
  bool LocateAfterAnchor(MarkId mark, int64_t put_ns, Spot* spot) const;
  // A mark that had been seen to be passed by the CPU time `seen_ns`. False if no anchor was put since.
  bool LocateBeforeAnchor(MarkId mark, int64_t seen_ns, Spot* spot) const;
  // Asks again by a nearer anchor, if what is known is coarse.
  void Refine(MarkId mark, Spot* spot) const;

  const DeviceClock& clock() const { return clock_; }
  size_t anchors() const { return anchors_.size(); }
  // How many marks were put for them.
  uint64_t tries() const { return tries_; }

 private:
  struct Anchor {
    MarkId mark;
    int64_t device_ns;
    int64_t put_ns;   // CPU time before it was put
    int64_t seen_ns;  // CPU time when it was seen to be passed
  };
  bool Add(MarkId mark, int64_t put_ns, int64_t seen_ns);
  Taken PollHeldUp(const Now& now);
  bool From(const Anchor& anchor, MarkId mark, Spot* spot) const;    // a later mark
  bool Before(const Anchor& anchor, MarkId mark, Spot* spot) const;  // an earlier one

  const uint32_t domain_;
  DeviceTimer* const timer_;
  DeviceClock clock_;
  ThinnedHistory<Anchor> anchors_{kMostAnchors};
  uint64_t tries_ = 0;
  bool held_up_ = false;
  MarkId held_up_mark_ = 0;
  int64_t held_up_put_ns_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_ANCHOR_LINE_H_
