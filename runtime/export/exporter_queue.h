// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExporterQueue: what waits for one exporter, and what became of everything that ever did.
//
// A part of ExporterRunner and guarded by its mutex; no function here blocks or calls an exporter.

#ifndef FERRET_RUNTIME_EXPORT_EXPORTER_QUEUE_H_
#define FERRET_RUNTIME_EXPORT_EXPORTER_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ferret/event_batch.h"
#include "runtime/export/runner_clock.h"

namespace ferret {

// In scopes, instants and counters of the program, as EventBatch::count() has it. At every moment
//
//     pushed = exported + dropped + failed + waiting
//
// and waiting is 0 once the exporter has stopped.
struct ExporterCounts {
  uint64_t pushed = 0;
  uint64_t exported = 0;  // Export returned OK
  uint64_t dropped = 0;   // kExporterDropped: the queue was full, or the exporter was stopped before it took them
  uint64_t failed = 0;    // kExporterFailed: Export failed or never returned, or the exporter was disabled
  uint64_t waiting = 0;   // in the queue or in a call of Export

  // Of exported: in batches with a sequence above RunnerOptions::fresh_after.
  uint64_t fresh = 0;
  // Of pushed, and of nothing else: a flight recorder's, which were too old before anything asked for them.
  uint64_t discarded = 0;

  uint64_t links_lost = 0;           // in batches that were dropped or failed
  uint64_t thread_notices_lost = 0;  // beyond kMaxMissedThreads
};

// A call of ExporterRunner::Flush. It stands in the queue behind the batches that it is about.
struct FlushRequest {
  RunnerClock::Time deadline;
  bool done = false;
  absl::Status status;
};

class ExporterQueue {
 public:
  // Thread notices of dropped batches that are kept for later: without them, the events of a thread that come through
  // afterwards would be nobody's. Bounded, since an exporter may hang for ever while threads come and go.
  static constexpr size_t kMaxMissedThreads = 65536;

  struct Entry {
    std::shared_ptr<const EventBatch> batch;  // null for a flush request
    std::vector<ThreadInfo> missed_threads;   // to be exported before the batch
    std::shared_ptr<FlushRequest> flush;      // null for a batch
  };

  explicit ExporterQueue(size_t max_bytes, uint64_t fresh_after = 0)
      : max_bytes_(max_bytes), fresh_after_(fresh_after) {}

  bool empty() const { return entries_.empty(); }
  bool IsQuarterFull() const { return held_bytes_ >= max_bytes_ / 4; }
  ExporterCounts counts() const { return counts_; }

  // Queues the batch, or drops it if the bytes held for this exporter would exceed the bound.
  void Push(std::shared_ptr<const EventBatch> batch);
  // Count a batch that comes when the exporter does not take any more.
  void Drop(const EventBatch& batch);
  void Fail(const EventBatch& batch);

  // The sequence of the last batch of which, as of all before it, nothing waits or is in a call of Export.
  uint64_t Settled() const;
  // The sequence of the last batch that came, whatever became of it.
  uint64_t last_sequence() const { return last_sequence_; }

  void PushFlush(std::shared_ptr<FlushRequest> request);

  // The oldest entry; not empty(). Its batch goes on holding its bytes until Finish is called.
  Entry Take();
  // Tells the outcome of Export for the batch taken last.
  void Finish(bool exported);
  // So many of what was exported failed in the end.
  void TakeBack(uint64_t count);

  // The notices of dropped batches that no accepted batch has taken along.
  std::vector<ThreadInfo> TakeMissedThreads();

  // Give up all that waits. A batch in a call of Export is counted as failed by FailAll and AbandonAll; flush requests
  // end with `status`. The entries are returned so that the caller frees the batches when it no longer holds the lock.
  std::deque<Entry> DropWaiting(const absl::Status& status);
  std::deque<Entry> FailAll(const absl::Status& status);
  std::deque<Entry> AbandonAll(const absl::Status& status);

 private:
  // What the accounting needs to know of a batch after the exporter has let go of it.
  struct InFlight {
    bool present = false;
    uint64_t sequence = 0;
    uint64_t count = 0;
    uint64_t links = 0;
    size_t bytes = 0;
  };

  void CountLost(uint64_t ExporterCounts::*reason, uint64_t count, uint64_t links);
  void KeepThreads(const std::vector<ThreadInfo>& threads);
  void FailInFlight();
  std::deque<Entry> LoseWaiting(uint64_t ExporterCounts::*reason, const absl::Status& status);

  const size_t max_bytes_;
  const uint64_t fresh_after_;
  size_t held_bytes_ = 0;  // of all batches in entries_ and of the one in flight
  std::deque<Entry> entries_;
  InFlight in_flight_;
  uint64_t last_sequence_ = 0;  // of all batches that came, whatever became of them
  std::vector<ThreadInfo> missed_threads_;
  ExporterCounts counts_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_EXPORTER_QUEUE_H_
