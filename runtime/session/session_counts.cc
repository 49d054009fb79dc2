// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the SessionRun that tells how it stands: what was recorded, lost and exported.

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/device/device_counter.h"
#include "runtime/record/name_table.h"
#include "runtime/record/thread_registry.h"
#include "runtime/session/session_run.h"

namespace ferret {
namespace {

using internal::NameTable;
using internal::Recorder;
using internal::ThreadRegistry;

// `now` - `before`. A thread's counts may have moved to id 0 meanwhile (see ThreadRegistry): then `before` exceeds.
LossCounts Since(const LossCounts& now, const LossCounts& before) {
  LossCounts since;
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    since.by_reason[i] = now.by_reason[i] - std::min(now.by_reason[i], before.by_reason[i]);
  }
  return since;
}

}  // namespace

std::map<uint32_t, LossCounts> SessionRun::LossesByThread() const {
  std::map<uint32_t, LossCounts> losses = ThreadRegistry::Global().Losses();
  for (const auto& [thread, before] : losses_before_) losses[thread] = Since(losses[thread], before);
  losses[0][LossReason::kStoppedRace] += drain_->stats().late;
  for (auto it = losses.begin(); it != losses.end();) it = it->second.total() == 0 ? losses.erase(it) : std::next(it);
  return losses;
}

LossCounts SessionRun::Losses() const {
  LossCounts losses;
  for (const auto& entry : LossesByThread()) losses += entry.second;
  return losses;
}

DeviceCounts SessionRun::DeviceLosses() const {
  // What the drain knows before what was asked: it is never more.
  DeviceCounts counts = drain_->stats().device;
  const DeviceCounts recording = internal::DeviceCounter::OfSession(device_session_).Sum();
  for (size_t i = 0; i < kDeviceLossCount; ++i) counts.lost[i] += recording.lost[i];
  counts.asked = recording.asked;
  if (cuda_ != nullptr) {
    const internal::PairTracker::Counts tracked = cuda_->counts();
    counts.clock = {tracked.placement.moved, tracked.placement.suspect, tracked.negative, tracked.breaks};
  }
  if (device_over_.load(std::memory_order_acquire)) {
    const uint64_t known = counts.timed + counts.total_lost();
    // A thread that got from one session into the next one in the middle of its first mark.
    counts.asked = std::max(counts.asked, known);
    // Threads that were there when the drain looked for the last time.
    counts.late = counts.asked - known;
    counts[DeviceLoss::kAbandonedAtStop] += counts.late;
  }
  return counts;
}

ExportProgress SessionRun::Progress() const {
  const internal::DrainStats stats = drain_->stats();
  ExportProgress progress;
  progress.events_built = stats.built;
  progress.lost = Losses();
  progress.links_made = stats.links_made;
  progress.links_evicted = stats.links_evicted;
  progress.links_unmatched = stats.links_unmatched;
  progress.links_hurried = stats.links_hurried;
  progress.ends_refused = ThreadRegistry::Global().ends_refused() - ends_refused_before_;
  progress.details_lost = Recorder::lost_details() - details_lost_before_;
  progress.remote_ends_unmatched = stats.unmatched_remote_ends;
  progress.names_inline = NameTable::Global().refused() - names_refused_before_;
  progress.clock_backward = stats.clock_backward;
  progress.clock_steps = stats.clock_steps;
  progress.device = DeviceLosses();
  return progress;
}

std::vector<SessionRun::Output> SessionRun::Outputs() const {
  std::vector<Output> outputs;
  for (const auto& runner : runners_) {
    outputs.push_back({runner->name(), {runner->destination()}, runner->counts(), runner->status()});
  }
  if (flight_ == nullptr) return outputs;
  for (FlightRecorder::Output& output : flight_->outputs()) {
    outputs.push_back({output.name, std::move(output.destinations), output.counts, output.status});
  }
  return outputs;
}

}  // namespace ferret
