// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/pair_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ferret::internal {

PairTracker::PairTracker(const Config& config, DeviceTimer* timer, std::function<int64_t()> now)
    : config_(config), timer_(timer), now_(std::move(now)) {}

PairTracker::Domain& PairTracker::DomainFor(uint32_t id) {
  while (domains_.size() < id) {
    const uint32_t number = static_cast<uint32_t>(domains_.size()) + 1;
    domains_.push_back(std::make_unique<Domain>(number, timer_));
    domains_.back()->info = timer_->Describe(number);
    domains_.back()->shown = timer_->ShownDomain(number);
    domains_.back()->anchor_interval_ns = config_.shortest_anchor_interval_ns;
  }
  return *domains_[id - 1];
}

void PairTracker::Submit(const SubmittedPair& pair) {
  ++waiting_;
  Stream& stream = DomainFor(DomainOf(pair.pair)).streams[pair.place];
  if (stream.waiting.empty()) stream.moved_ns = now_();
  stream.waiting.push_back(pair);
}

bool PairTracker::Pass(bool settle, DeviceOutput* out) {
  bool moved = false;
  // A domain's first anchor is best taken before its first pairs.
  if (const uint32_t domains = timer_->domains(); domains > domains_.size()) DomainFor(domains);
  for (const auto& domain : domains_) moved |= PassDomain(*domain, settle, out);
  return moved;
}

bool PairTracker::PassDomain(Domain& domain, bool settle, DeviceOutput* out) {
  bool waiting = !domain.passed.empty();
  for (const auto& entry : domain.streams) waiting |= !entry.second.waiting.empty();
  if (!waiting && (domain.lost || domain.line.anchors() != 0)) return false;
  DomainGuard guard(timer_, domain.id);
  const uint64_t before = waiting_;
  domain.lost |= timer_->Lost(domain.id);
  if (!guard.usable() && !domain.lost) return false;
  const bool moved = !domain.lost && PollStreams(domain, out);
  if (domain.lost) {
    Lose(domain, out);
    return waiting_ != before;
  }
  KeepAnchors(domain, settle, waiting);
  for (PassedPair& passed : domain.passed) {
    if (!passed.located) Locate(domain, &passed);
  }
  Resolve(domain, false, out);
  return moved || waiting_ != before;
}

bool PairTracker::PollStreams(Domain& domain, DeviceOutput* out) {
  bool moved = false;
  for (auto& [place, stream] : domain.streams) {
    while (!stream.waiting.empty()) {
      const SubmittedPair pair = stream.waiting.front();
      const DeviceTimer::Passed passed = timer_->Poll(domain.id, EndMark(pair.pair));
      if (passed == DeviceTimer::Passed::kNotYet) {
        if (now_() - stream.moved_ns <= config_.longest_silence_ns) break;
        // It never will be. What stands behind it is looked at for itself: the stream's handle may be a new one's.
        stream.waiting.pop_front();
        Fail(pair, DeviceLoss::kTimeout, out);
        moved = true;
        continue;
      }
      if (passed == DeviceTimer::Passed::kLost) {
        domain.lost = true;
        return true;
      }
      stream.waiting.pop_front();
      moved = true;
      stream.moved_ns = now_();
      if (passed == DeviceTimer::Passed::kYes) {
        OnPassed(domain, pair, out);
      } else {
        Fail(pair, DeviceLoss::kQueryFailed, out);
      }
    }
  }
  // Streams come and go: only those with pairs are kept.
  for (auto stream = domain.streams.begin(); stream != domain.streams.end();) {
    stream = stream->second.waiting.empty() ? domain.streams.erase(stream) : std::next(stream);
  }
  return moved;
}

void PairTracker::OnPassed(Domain& domain, const SubmittedPair& pair, DeviceOutput* out) {
  if (pair.token == 0) {  // nobody asks where it lies
    timer_->Return(pair.pair);
    --waiting_;
    out->results.emplace_back();
    return;
  }
  PassedPair passed;
  passed.pair = pair;
  passed.seen_ns = now_();
  if (!timer_->Elapsed(domain.id, BeginMark(pair.pair), EndMark(pair.pair), &passed.duration_ns,
                       &passed.duration_step_ns)) {
    Fail(pair, DeviceLoss::kQueryFailed, out);
    return;
  }
  if (passed.duration_ns < 0) {
    ++counts_.negative;
    passed.duration_ns = 0;
  }
  Locate(domain, &passed);
  domain.passed.push_back(passed);
}

// Against the nearest anchor that is known to lie before it or, while there is none near enough, against the next one.
void PairTracker::Locate(Domain& domain, PassedPair* passed) {
  const SubmittedPair& pair = passed->pair;
  const AnchorLine& line = domain.line;
  AnchorLine::Spot end;
  if (!line.LocateAfterAnchor(EndMark(pair.pair), pair.end_ns, &end) || end.step_ns > AnchorLine::kFineStepNs) {
    if (!line.LocateBeforeAnchor(EndMark(pair.pair), passed->seen_ns, &end)) return;
  }
  passed->device_end_ns = end.device_ns;
  passed->step_ns = end.step_ns;
  // The driver's number for a long pair is coarse; its beginning may be near an anchor of its own time.
  AnchorLine::Spot begin{end.device_ns - passed->duration_ns, passed->duration_step_ns};
  line.Refine(BeginMark(pair.pair), &begin);
  if (begin.step_ns < passed->duration_step_ns) {
    passed->duration_ns = std::max<int64_t>(0, end.device_ns - begin.device_ns);
    passed->duration_step_ns = begin.step_ns;
  }
  passed->located = true;
  timer_->Return(pair.pair);
}

// Also while the device is still at work: what takes long is to have anchors near its beginning and its end.
void PairTracker::KeepAnchors(Domain& domain, bool settle, bool waiting) {
  const bool first = domain.line.anchors() == 0;
  const int64_t now = now_();
  if (!first && !waiting && domain.passed.empty()) return;
  if (!settle && now < domain.next_anchor_ns) return;
  switch (domain.line.Take(now_)) {
    case AnchorLine::Taken::kYes:
      ++counts_.anchors;
      domain.next_anchor_ns = now + domain.anchor_interval_ns;
      domain.anchor_interval_ns = std::min(2 * domain.anchor_interval_ns, config_.longest_anchor_interval_ns);
      break;
    case AnchorLine::Taken::kFailed:
      domain.next_anchor_ns = now + config_.shortest_anchor_interval_ns;
      break;
    case AnchorLine::Taken::kHeldUp:  // looked at again in the next pass
      break;
  }
}

void PairTracker::Resolve(Domain& domain, bool all, DeviceOutput* out) {
  const DeviceClock& clock = domain.line.clock();
  std::vector<PassedPair> ready;
  size_t kept = 0;
  for (const PassedPair& passed : domain.passed) {
    const bool between = passed.located && !clock.empty() && passed.device_end_ns <= clock.last_device_ns();
    if (all || between || now_() - passed.seen_ns > config_.longest_anchor_wait_ns) {
      ready.push_back(passed);
    } else {
      domain.passed[kept++] = passed;
    }
  }
  domain.passed.resize(kept);
  const std::vector<PlacedPair> placed = PlacePairs(clock, ready, &counts_.placement);
  for (size_t i = 0; i < ready.size(); ++i) {
    if (!ready[i].located) timer_->GiveUp(ready[i].pair.pair);
    Timed(domain, ready[i].pair, placed[i], out);
  }
}

// What had been passed has its time, whatever became of the device since.
void PairTracker::Lose(Domain& domain, DeviceOutput* out) {
  Resolve(domain, true, out);
  for (auto& [place, stream] : domain.streams) {
    for (const SubmittedPair& pair : stream.waiting) Fail(pair, DeviceLoss::kDeviceLost, out);
    stream.waiting.clear();
  }
}

void PairTracker::GiveUp(DeviceOutput* out) {
  for (const auto& domain : domains_) {
    Resolve(*domain, true, out);
    for (auto& [place, stream] : domain->streams) {
      for (const SubmittedPair& pair : stream.waiting) Fail(pair, DeviceLoss::kAbandonedAtStop, out);
      stream.waiting.clear();
    }
  }
}

void PairTracker::Fail(const SubmittedPair& pair, DeviceLoss reason, DeviceOutput* out) {
  timer_->GiveUp(pair.pair);
  --waiting_;
  PairResult& result = out->results.emplace_back();
  result.token = pair.token;
  result.reason = reason;
}

void PairTracker::Timed(Domain& domain, const SubmittedPair& pair, const PlacedPair& placed, DeviceOutput* out) {
  --waiting_;
  const auto [described, is_new] = domain.described.try_emplace(pair.place, 0);
  if (is_new) {
    out->streams.push_back(timer_->DescribeStream(domain.id, pair.place));
    described->second = out->streams.back().stream;
  }
  if (std::find(devices_.begin(), devices_.end(), domain.info.index) == devices_.end()) {
    devices_.push_back(domain.info.index);
    out->devices.push_back(domain.info);
  }
  PairResult& result = out->results.emplace_back();
  result.token = pair.token;
  result.timed = true;
  result.start_ns = placed.start_ns;
  result.end_ns = placed.end_ns;
  result.error_ns = placed.error_ns;
  result.device_index = domain.info.index;
  result.stream = described->second;
  result.shown_domain = domain.shown;
}

PairTracker::Counts PairTracker::counts() const {
  Counts counts = counts_;
  for (const auto& domain : domains_) {
    counts.breaks += domain->line.clock().breaks();
    counts.anchor_tries += domain->line.tries();
  }
  return counts;
}

}  // namespace ferret::internal
