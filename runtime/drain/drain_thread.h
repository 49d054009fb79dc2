// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DrainThread: runs passes of the drain while a session is on, and keeps its clock map.
//
// Sleeps 1 to 10 ms between passes, longer the less there is to do, and is woken early by recording threads that find
// chunks running low. Blocks all signals; is never recorded itself.

#ifndef FERRET_RUNTIME_DRAIN_DRAIN_THREAD_H_
#define FERRET_RUNTIME_DRAIN_DRAIN_THREAD_H_

#include <condition_variable>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/clock/clock_map.h"
#include "runtime/drain/drain.h"

namespace ferret::internal {

// What a session's drain has done so far.
struct DrainStats {
  uint64_t built = 0;  // finished scopes, instants and counters
  uint64_t links_made = 0;
  uint64_t links_unmatched = 0;
  uint64_t links_evicted = 0;
  uint64_t links_hurried = 0;
  uint64_t clock_backward = 0;
  uint64_t clock_steps = 0;
  uint64_t unmatched_remote_ends = 0;
  uint64_t late = 0;
  DeviceCounts device;  // of scopes whose first mark was read; not what was asked
};

class DrainThread {
 public:
  struct Config {
    EventBuilder::Config builder;
    bool cycle_counter = false;
    int64_t wall_offset_ns = 0;
    // Null without a crash file; else builder.cuts is set.
    CrashLog* crash_log = nullptr;
    // How long a batch may wait to be filled: each one wakes every exporter's thread.
    int64_t longest_wait_for_batch_ns = 20'000'000;
    // How often it is looked whether threads have gone without saying so.
    int64_t look_for_threads_ns = 5'000'000'000;
    // Called as often, on the drain thread, which perhaps is the last one that is left; may be null.
    void (*on_look_for_threads)() = nullptr;
  };

  // Where pairs of marks are timed. Before Start; it outlives the thread.
  void SetDevicePort(DevicePort* port) { device_port_ = port; }

  // `recorder` and `sink` must outlive the thread, also when it was abandoned.
  DrainThread(const Config& config, Recorder* recorder, BatchSink* sink);
  ~DrainThread();

  // False when the system gives no thread.
  bool Start();

  using TimePoint = std::chrono::steady_clock::time_point;
  // Waits until everything that was recorded before the call has been handed to the sink. False at the deadline.
  bool Flush(TimePoint deadline);
  // The same, and the scopes that are open then (see EventBuilder::ListOpen), as of the batch whose `sequence` the list has.
  // Null at the deadline, and after Finish, also if that gave up.
  std::shared_ptr<EventBatch> FlushAndListOpen(TimePoint deadline);
  // Reads the rest, closes open scopes and ends the thread. Recording must be off. False at the deadline: the thread
  // goes on by itself and this object must be leaked.
  bool Finish(TimePoint deadline);

  // After Finish returned true, when the crash file is gone.
  void RecycleHeldChunks() { drain_.RecycleHeldChunks(); }

  DrainStats stats() const;
  int64_t start_ns() const { return start_ns_; }
  // Of the clock that records are stamped with, as far as it is known before Start.
  double ns_per_tick() const { return ns_per_tick_; }

 private:
  void Run();
  void KeepClock();
  void EndGoneThreads(uint64_t now_ticks, bool finish);
  void PublishStats();
  bool WaitFor(uint64_t passes, TimePoint deadline);

  const Config config_;
  Recorder* const recorder_;
  ClockMap clock_;  // drain thread only, once that runs
  const int64_t start_ns_;
  const double ns_per_tick_;
  BatchSink* const sink_;
  Drain drain_;     // drain thread only, once that runs
  DevicePort* device_port_ = nullptr;
  std::thread thread_;

  int64_t last_delivery_ns_ = 0;
  int64_t next_anchor_ns_ = 0;
  int64_t anchor_interval_ns_ = 1'000'000;
  int64_t next_look_for_threads_ns_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable done_;
  uint64_t passes_begun_ = 0;
  uint64_t passes_ended_ = 0;
  uint64_t flush_until_ = 0;  // the pass up to which everything read is delivered at once
  // The first pass that is to list what is open, if it is asked for, and the latest list.
  uint64_t list_open_at_ = UINT64_MAX;
  std::shared_ptr<EventBatch> open_scopes_;
  bool finish_requested_ = false;
  bool finished_ = false;
  bool given_up_ = false;  // by Finish, at its deadline: nobody waits any more
  DrainStats stats_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_DRAIN_THREAD_H_
