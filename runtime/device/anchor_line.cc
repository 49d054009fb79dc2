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

// The last minute or two stay as they are; of what is older, one in sixteen, for scopes that last for hours.
constexpr size_t kMostRecent = 64;
constexpr uint64_t kKeepOneIn = 16;
constexpr size_t kMostAnchors = 512;

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
  anchors_.push_back(anchor);
  clock_.Add(anchor.device_ns, put_ns, seen_ns);
  ++added_;
  FreeOld();
  return true;
}

void AnchorLine::FreeOld() {
  if (++recent_ <= kMostRecent) return;
  --recent_;
  const size_t place = anchors_.size() - 1 - recent_;
  if ((added_ - recent_) % kKeepOneIn != 0) {
    timer_->FreeAnchor(domain_, anchors_[place].mark);
    anchors_.erase(anchors_.begin() + static_cast<std::ptrdiff_t>(place));
  } else if (anchors_.size() > kMostAnchors) {
    timer_->FreeAnchor(domain_, anchors_.front().mark);
    anchors_.pop_front();
  }
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
  if (spot->step_ns <= kFineStepNs) return true;
  // It was passed long after it was put. Where it lies is known well enough to tell which anchor is the last one before
  // it, and close to that one it is known better.
  const int64_t certainly_before = spot->device_ns - 2 * spot->step_ns;
  const auto later = std::partition_point(anchors_.begin(), anchors_.end(), [certainly_before](const Anchor& anchor) {
    return anchor.device_ns < certainly_before;
  });
  Spot better;
  if (later != anchors_.begin() && From(*(later - 1), mark, &better) && better.step_ns < spot->step_ns) *spot = better;
  return true;
}

bool AnchorLine::LocateBeforeAnchor(MarkId mark, int64_t seen_ns, Spot* spot) const {
  const auto put_later = std::partition_point(anchors_.begin(), anchors_.end(),
                                              [seen_ns](const Anchor& anchor) { return anchor.put_ns < seen_ns; });
  if (put_later == anchors_.end()) return false;
  int64_t ns;
  if (!timer_->Elapsed(domain_, mark, put_later->mark, &ns, &spot->step_ns)) return false;
  spot->device_ns = put_later->device_ns - ns;
  return true;
}

}  // namespace ferret::internal
