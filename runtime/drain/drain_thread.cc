// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/drain_thread.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

#include "runtime/clock/cpu_clock.h"
#include "runtime/record/thread_registry.h"
#include "runtime/threads/background_thread.h"
#include "runtime/threads/own_threads.h"

namespace ferret::internal {
namespace {

constexpr int64_t kShortestSleepNs = 1'000'000;
constexpr int64_t kLongestSleepNs = 10'000'000;
constexpr int64_t kLongestAnchorIntervalNs = 1'000'000'000;
// From this much in one pass on, the next pass comes soon.
constexpr uint64_t kBusyPassBytes = 64 * 1024;
// Chunks that recording threads should find without page faults, at the start and later on.
constexpr uint32_t kReadyChunks = 16;

}  // namespace

DrainThread::DrainThread(const Config& config, Recorder* recorder, BatchSink* sink)
    : config_(config),
      recorder_(recorder),
      clock_(StartClockMap(config.cycle_counter, config.wall_offset_ns)),
      start_ns_(clock_.ToNs(ReadTicks(config.cycle_counter))),
      ns_per_tick_(clock_.ns_per_tick()),
      sink_(sink),
      drain_(config.builder, recorder, &clock_, sink, config.crash_log) {
  if (config.crash_log != nullptr) config.crash_log->MirrorClock(clock_);
}

DrainThread::~DrainThread() {
  if (thread_.joinable()) thread_.join();
}

bool DrainThread::Start() {
  const BlockSignalsForNewThread block;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {  // no more threads: the caller is told
  }
  return thread_.joinable();
}

void DrainThread::Run() {
  pthread_setname_np(pthread_self(), "ferret-drain");
  Recorder::SuppressThisThread();
  ThisThreadIsFerrets();
  int64_t sleep_ns = kShortestSleepNs;
  for (;;) {
    bool finish;
    bool flush;
    bool list_open;
    uint64_t pass;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      finish = finish_requested_;
      pass = ++passes_begun_;
      flush = pass <= flush_until_;
      list_open = pass >= list_open_at_;
    }
    KeepClock();
    if (config_.crash_log != nullptr) config_.crash_log->MirrorWindows();
    if (device_port_ != nullptr) {
      device_port_->Pump();
      drain_.device().OnOutput(device_port_->Take());
    }
    uint64_t bytes = 0;
    std::shared_ptr<EventBatch> open_scopes;
    const uint64_t now = ReadTicks(config_.cycle_counter);
    EndGoneThreads(now, finish);
    if (finish) {
      drain_.Finish(now);
    } else {
      const int64_t now_ns = MonotonicNs();
      const bool deliver = flush || now_ns - last_delivery_ns_ >= config_.longest_wait_for_batch_ns;
      if (deliver) last_delivery_ns_ = now_ns;
      bytes = drain_.Pass(now, deliver);
      if (list_open) {
        open_scopes = drain_.builder().ListOpen(now);
        open_scopes->sequence = sink_->KeepForDump();
      }
    }
    if (device_port_ != nullptr) device_port_->Submit(drain_.device().submitted());
    sink_->PassEnded();
    PublishStats();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++passes_ended_;
      // Unless it was made for somebody who has gone, and the next one is waiting for a later one.
      if (list_open && pass >= list_open_at_) {
        list_open_at_ = UINT64_MAX;
        open_scopes_ = std::move(open_scopes);
      }
      finished_ = finish;
      done_.notify_all();
    }
    if (finish) return;
    recorder_->pool().Prefault(kReadyChunks);
    sleep_ns = bytes >= kBusyPassBytes ? kShortestSleepNs : std::min(sleep_ns * 2, kLongestSleepNs);
    recorder_->WaitForWork(sleep_ns);
  }
}

// Often at first, while the rate is known only roughly, then once a second.
void DrainThread::KeepClock() {
  if (!config_.cycle_counter) return;
  const int64_t now = MonotonicNs();
  if (now < next_anchor_ns_) return;
  clock_.Add(ReadAnchor(true, config_.wall_offset_ns, 16));
  if (config_.crash_log != nullptr) config_.crash_log->MirrorClock(clock_);
  next_anchor_ns_ = now + anchor_interval_ns_;
  anchor_interval_ns_ = std::min(anchor_interval_ns_ * 2, kLongestAnchorIntervalNs);
}

void DrainThread::EndGoneThreads(uint64_t now_ticks, bool finish) {
  const int64_t now_ns = MonotonicNs();
  if (now_ns < next_look_for_threads_ns_ && !finish) return;
  next_look_for_threads_ns_ = now_ns + config_.look_for_threads_ns;
  const std::vector<uint32_t> gone = ThreadRegistry::Global().FindGone();
  drain_.EndThreads(gone, now_ticks);
  if (!finish && config_.on_look_for_threads != nullptr) config_.on_look_for_threads();
  // Not with the last pass, which may come when the next session is on: that one's drain has to find the same threads.
  if (finish) return;
  for (const uint32_t thread : gone) ThreadRegistry::Global().Reclaim(thread);
}

void DrainThread::PublishStats() {
  const EventBuilder& builder = drain_.builder();
  DrainStats stats;
  stats.built = builder.built();
  stats.links_made = builder.linker().made();
  stats.links_unmatched = builder.linker().unmatched();
  stats.links_evicted = builder.linker().evicted();
  stats.links_hurried = builder.linker().hurried();
  stats.clock_backward = builder.clock_backward();
  stats.clock_steps = clock_.steps();
  stats.unmatched_remote_ends = builder.unmatched_remote_ends();
  stats.late = drain_.late();
  stats.device = builder.device().counts();
  std::lock_guard<std::mutex> lock(mutex_);
  stats_ = stats;
}

DrainStats DrainThread::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

bool DrainThread::WaitFor(uint64_t passes, TimePoint deadline) {
  recorder_->Wake();
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait_until(lock, deadline, [&] { return passes_ended_ >= passes || finished_ || given_up_; });
  return passes_ended_ >= passes || finished_;
}

bool DrainThread::Flush(TimePoint deadline) {
  uint64_t passes;
  {
    // A pass that has begun may have looked already: the one after it has not.
    std::lock_guard<std::mutex> lock(mutex_);
    passes = passes_begun_ + 1;
    flush_until_ = std::max(flush_until_, passes);
  }
  return WaitFor(passes, deadline);
}

std::shared_ptr<EventBatch> DrainThread::FlushAndListOpen(TimePoint deadline) {
  uint64_t passes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    passes = passes_begun_ + 1;
    flush_until_ = std::max(flush_until_, passes);
    list_open_at_ = passes;
    open_scopes_ = nullptr;
  }
  if (!WaitFor(passes, deadline)) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  return std::move(open_scopes_);
}

bool DrainThread::Finish(TimePoint deadline) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    finish_requested_ = true;
  }
  if (!WaitFor(UINT64_MAX, deadline)) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      given_up_ = true;
      done_.notify_all();
    }
    thread_.detach();
    return false;
  }
  thread_.join();
  return true;
}

}  // namespace ferret::internal
