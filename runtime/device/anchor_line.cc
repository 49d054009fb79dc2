// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/anchor_line.h"

#include <algorithm>

namespace ferret::internal {
namespace {

constexpr int kTries = 6;
// How long one try is waited for: some times what a device that has nothing else to do takes.
constexpr int64_t kPatienceNs = 200'000;
constexpr int kMostPolls = 4096;
// Of a whole taking: narrower ones are not looked for beyond this.
constexpr int64_t kNarrowNs = 1'000;

}  // namespace

AnchorLine::~AnchorLine() {
  for (const Anchor& anchor : anchors_) timer_->FreeAnchor(domain_, anchor.mark);
  if (held_up_) timer_->FreeAnchor(domain_, held_up_mark_);
}

AnchorLine::Taken AnchorLine::Take(const Now& now) {
  if (held_up_) return PollHeldUp(now);
  bool found = false;
  MarkId best = 0;
  int64_t best_put_ns = 0;
  int64_t best_seen_ns = 0;
  for (int i = 0; i < kTries; ++i) {
    const int64_t put_ns = now();
    MarkId mark;
    if (!timer_->PutAnchor(domain_, &mark)) break;
    ++tries_;
    DeviceTimer::Passed passed = DeviceTimer::Passed::kNotYet;
    int64_t seen_ns = put_ns;
    for (int polls = 0; passed == DeviceTimer::Passed::kNotYet && polls < kMostPolls; ++polls) {
      passed = timer_->Poll(domain_, mark);
      seen_ns = now();
      if (seen_ns - put_ns > kPatienceNs) break;
    }
    if (passed == DeviceTimer::Passed::kNotYet && !found) {
      held_up_ = true;
      held_up_mark_ = mark;
      held_up_put_ns_ = put_ns;
      return Taken::kHeldUp;
    }
    const bool better = passed == DeviceTimer::Passed::kYes && (!found || seen_ns - put_ns < best_seen_ns - best_put_ns);
    if (!better) {
      timer_->FreeAnchor(domain_, mark);
      if (passed != DeviceTimer::Passed::kYes) break;
      continue;
    }
    if (found) timer_->FreeAnchor(domain_, best);
    found = true;
    best = mark;
    best_put_ns = put_ns;
    best_seen_ns = seen_ns;
    if (seen_ns - put_ns <= kNarrowNs) break;
  }
  return found && Add(best, best_put_ns, best_seen_ns) ? Taken::kYes : Taken::kFailed;
}

AnchorLine::Taken AnchorLine::PollHeldUp(const Now& now) {
  const DeviceTimer::Passed passed = timer_->Poll(domain_, held_up_mark_);
  if (passed == DeviceTimer::Passed::kNotYet) return Taken::kHeldUp;
  held_up_ = false;
  if (passed == DeviceTimer::Passed::kYes && Add(held_up_mark_, held_up_put_ns_, now())) return Taken::kYes;
  if (passed != DeviceTimer::Passed::kYes) timer_->FreeAnchor(domain_, held_up_mark_);
  return Taken::kFailed;
}

// Takes the mark over, or frees it.
bool AnchorLine::Add(MarkId mark, int64_t put_ns, int64_t seen_ns) {
  Anchor anchor{mark, 0, put_ns, seen_ns};
  if (!anchors_.empty()) {
    Spot spot;
    if (!From(anchors_.back(), mark, &spot) || spot.device_ns <= anchors_.back().device_ns) {
      timer_->FreeAnchor(domain_, mark);
      return false;
    }
    anchor.device_ns = spot.device_ns;
  }
  anchors_.Add(anchor, [this](const Anchor& old) { timer_->FreeAnchor(domain_, old.mark); });
  clock_.Add(anchor.device_ns, put_ns, seen_ns);
  return true;
}

bool AnchorLine::From(const Anchor& anchor, MarkId mark, Spot* spot) const {
  int64_t ns;
  if (!timer_->Elapsed(domain_, anchor.mark, mark, &ns, &spot->step_ns)) return false;
  spot->device_ns = anchor.device_ns + ns;
  return true;
}

bool AnchorLine::LocateAfterAnchor(MarkId mark, int64_t put_ns, Spot* spot) const {
  const auto seen_later = std::partition_point(anchors_.begin(), anchors_.end(),
                                               [put_ns](const Anchor& anchor) { return anchor.seen_ns < put_ns; });
  if (seen_later == anchors_.begin()) return false;
  if (!From(*(seen_later - 1), mark, spot)) return false;
  Refine(mark, spot);
  return true;
}

// Where it lies is known well enough to tell which anchors are certainly before and after it; close to one of those it is
// known better.
void AnchorLine::Refine(MarkId mark, Spot* spot) const {
  if (spot->step_ns <= kFineStepNs) return;
  const int64_t unsure = 2 * spot->step_ns;
  const auto lies_before = [this](int64_t device_ns) {
    return std::partition_point(anchors_.begin(), anchors_.end(),
                                [device_ns](const Anchor& anchor) { return anchor.device_ns <= device_ns; });
  };
  const auto later = lies_before(spot->device_ns + unsure);
  auto earlier = lies_before(spot->device_ns - unsure);
  Spot better;
  if (earlier != anchors_.begin() && From(*--earlier, mark, &better) && better.step_ns < spot->step_ns) *spot = better;
  if (later != anchors_.end() && Before(*later, mark, &better) && better.step_ns < spot->step_ns) *spot = better;
}

bool AnchorLine::Before(const Anchor& anchor, MarkId mark, Spot* spot) const {
  int64_t ns;
  if (!timer_->Elapsed(domain_, mark, anchor.mark, &ns, &spot->step_ns)) return false;
  spot->device_ns = anchor.device_ns - ns;
  return true;
}

bool AnchorLine::LocateBeforeAnchor(MarkId mark, int64_t seen_ns, Spot* spot) const {
  const auto put_later = std::partition_point(anchors_.begin(), anchors_.end(),
                                              [seen_ns](const Anchor& anchor) { return anchor.put_ns < seen_ns; });
  return put_later != anchors_.end() && Before(*put_later, mark, spot);
}

}  // namespace ferret::internal
