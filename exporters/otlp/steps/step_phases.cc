// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/steps/step_phases.h"

#include <algorithm>
#include <utility>

namespace ferret::otlp {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

Phase PhaseOfName(std::string_view name) {
  if (StartsWith(name, "enumerate(DataLoader)#")) return Phase::kData;
  if (StartsWith(name, "Optimizer.")) return Phase::kOptimizer;
  for (const std::string_view prefix : {"nccl:", "gloo:", "c10d::"}) {
    if (StartsWith(name, prefix)) return Phase::kComm;
  }
  return Phase::kNone;
}

// `interval` is the last of its phase so far, and nothing that comes begins before it.
void Extend(StepPhases::Interval* interval, int64_t start_ns, int64_t end_ns) {
  interval->busy_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, interval->end_ns));
  interval->end_ns = std::max(interval->end_ns, end_ns);
}

}  // namespace

std::string_view PhaseText(Phase phase) {
  switch (phase) {
    case Phase::kNone: return "none";
    case Phase::kData: return "data";
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
    case Phase::kComm: return "comm";
  }
  return "unknown";
}

Phase StepPhases::PhaseOf(const FunctionEvent& event) {
  if (event.device_type != DeviceType::kCpu) return Phase::kNone;
  if (event.is_backward() || event.scope == RecordScope::kBackwardFunction) return Phase::kBackward;
  if (event.name_id == 0) return PhaseOfName(event.name);
  if (event.name_id >= by_name_id_.size()) {
    by_name_id_.resize(std::max<size_t>(size_t{event.name_id} + 1, 2 * by_name_id_.size()), -1);
  }
  int8_t& known = by_name_id_[event.name_id];
  if (known < 0) known = static_cast<int8_t>(PhaseOfName(event.name));
  return static_cast<Phase>(known);
}

void StepPhases::Note(const FunctionEvent& event) {
  const Phase phase = PhaseOf(event);
  if (phase == Phase::kNone) return;
  if (markers_.size() - taken_ < kMostMarkers) {
    sorted_ = sorted_ && (markers_.size() == taken_ || markers_.back().start_ns <= event.start_ns);
    markers_.push_back({phase, event.start_ns, event.end_ns});
    return;
  }
  Marker& rest = rest_[static_cast<size_t>(phase)];
  if (rest.phase == Phase::kNone) {
    rest = {phase, event.start_ns, event.end_ns};
  } else {
    rest.start_ns = std::min(rest.start_ns, event.start_ns);
    rest.end_ns = std::max(rest.end_ns, event.end_ns);
  }
}

std::vector<StepPhases::Interval> StepPhases::Take(int64_t start_ns, int64_t end_ns) {
  for (Marker& rest : rest_) {
    if (rest.phase == Phase::kNone) continue;
    markers_.push_back(std::exchange(rest, Marker{}));
    sorted_ = false;
  }
  const auto by_start = [](const Marker& a, const Marker& b) { return a.start_ns < b.start_ns; };
  if (!sorted_) {
    // What was taken is of no use any more, and steps take from the front.
    markers_.erase(markers_.begin(), markers_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
    std::sort(markers_.begin(), markers_.end(), by_start);
    sorted_ = true;
  }
  const auto from = markers_.begin() + static_cast<std::ptrdiff_t>(taken_);
  const auto to = std::lower_bound(from, markers_.end(), Marker{Phase::kNone, end_ns, end_ns}, by_start);
  const std::vector<Marker> mine(from, to);
  taken_ += mine.size();
  if (taken_ == markers_.size()) {
    markers_.clear();
    taken_ = 0;
  }

  std::vector<Interval> phases;
  Interval comm;
  Interval before;  // the latest one that is not comm
  before.end_ns = start_ns;
  bool had_backward = false;  // since the latest data
  const auto add_forward = [&](int64_t until) {
    if (until > before.end_ns) phases.push_back({Phase::kForward, before.end_ns, until, until - before.end_ns});
  };
  for (const Marker& marker : mine) {
    if (marker.start_ns < start_ns) continue;
    const int64_t end = std::min(marker.end_ns, end_ns);
    const Interval interval = {marker.phase, marker.start_ns, end, end - marker.start_ns};
    if (marker.phase == Phase::kComm) {
      if (comm.phase == Phase::kNone) {
        comm = interval;
      } else {
        Extend(&comm, marker.start_ns, end);
      }
    } else if (before.phase == marker.phase &&
               (marker.phase == Phase::kBackward || marker.start_ns <= before.end_ns)) {
      Extend(&before, marker.start_ns, end);
    } else {
      if (before.phase != Phase::kNone) phases.push_back(before);
      // zero_grad may stand anywhere.
      const bool forward = marker.phase == Phase::kBackward || (marker.phase == Phase::kOptimizer && !had_backward) ||
                           (marker.phase == Phase::kData && before.phase == Phase::kData);
      if (forward) add_forward(marker.start_ns);
      had_backward = marker.phase == Phase::kBackward || (had_backward && marker.phase != Phase::kData);
      before = interval;
    }
  }
  if (before.phase != Phase::kNone) phases.push_back(before);
  if (before.phase == Phase::kData) add_forward(end_ns);
  if (comm.phase != Phase::kNone) phases.insert(phases.begin(), comm);
  return phases;
}

}  // namespace ferret::otlp
