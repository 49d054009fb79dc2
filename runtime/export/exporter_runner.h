// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExporterRunner: one exporter, its bounded queue and its thread.
//
// Nothing that an exporter does reaches back: Push never waits for it, Flush and Stop wait no longer than they are
// told. An exporter that is too slow loses its own batches, counted as dropped; one that throws or cannot open is
// disabled, and what comes afterwards is counted as failed; one that hangs when the session stops is abandoned, thread
// and all.
//
// Who calls what: Push and FlushSoon, the drain thread; counts, status, destination, Flush and RequestStop, any thread; Stop
// and the destructor, one thread. In the child of a fork the exporter's thread does not exist: the child must not touch a
// runner, not even destroy it.

#ifndef FERRET_RUNTIME_EXPORT_EXPORTER_RUNNER_H_
#define FERRET_RUNTIME_EXPORT_EXPORTER_RUNNER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"
#include "runtime/export/exporter_queue.h"
#include "runtime/export/runner_clock.h"

namespace ferret {

struct RunnerOptions {
  // As in FERRET_EXPORT; names the thread ("ferret-<name>", cut to 15 characters) and the diagnostics.
  std::string name;
  // Bound on EventBatch::bytes() of everything that waits for the exporter or is in its hands.
  size_t max_queue_bytes = size_t{64} << 20;
  // Batches with a sequence up to that have been given to another exporter for the same output: see ExporterCounts::fresh.
  uint64_t fresh_after = 0;
  // Nothing exported stays unflushed for longer.
  absl::Duration flush_interval = absl::Seconds(1);
  // The deadline that the exporter is given for such a flush.
  absl::Duration flush_timeout = absl::Seconds(5);
  // Called first on the exporter's thread; the session keeps the thread from being recorded with it.
  void (*on_thread_start)() = nullptr;
  // The session's part of the progress, without any exporter's losses. Called on the exporter's thread, never after
  // Stop has returned. It must not throw, nor wait for anything that a caller of Stop holds.
  std::function<ExportProgress()> progress;
  // Called on the exporter's thread whenever more is settled: everything up to that batch is flushed, or counted as lost.
  // UINT64_MAX: nothing that comes will be exported any more. May be called after Stop has returned.
  std::function<void(uint64_t batch, const std::optional<DurableOutput>& output)> on_settled;
  // Called by FlushSoon when a call of the exporter has lasted for too long, or its flushes have failed for as long: nothing
  // up to that batch is to be waited for. What waited for a call that hangs is counted as dropped. Of the batch that the exporter has got is known what becomes of it when the call
  // returns; after a kill before that it may be in the output or not.
  std::function<void(uint64_t batch)> on_given_up;
  absl::Duration longest_wait = absl::Seconds(1);
  // Gets one line for each first error of a kind; null is standard error. Called on any thread, also after Stop.
  void (*report)(const std::string& line) = nullptr;
  // Null is the real one. Must live as long as the process.
  RunnerClock* clock = nullptr;
};

class ExporterThread;

class ExporterRunner {
 public:
  // Starts the thread, which opens the exporter; batches may be pushed meanwhile. info.file_opened is called under the
  // same rules as RunnerOptions::progress.
  ExporterRunner(std::unique_ptr<Exporter> exporter, SessionInfo info, RunnerOptions options);
  // Stop with a deadline of two seconds, unless it was called.
  ~ExporterRunner();
  ExporterRunner(const ExporterRunner&) = delete;
  ExporterRunner& operator=(const ExporterRunner&) = delete;

  // Hands a batch to the exporter, or drops it (for this exporter alone, counted) when the queue is full. Never blocks.
  // The notices about threads of dropped batches are kept and exported before the next batch that is not dropped.
  // Without `wake` a thread that sleeps goes on sleeping, until Wake at the latest, or until the queue is a quarter full.
  void Push(std::shared_ptr<const EventBatch> batch, bool wake = true);
  void Wake();

  // Flushes once more before its time, if anything was exported since the last flush. An exporter that hangs cannot: it loses
  // what waits for it, see RunnerOptions::on_given_up. Never blocks.
  void FlushSoon();

  // Waits until everything pushed before the call is exported and flushed. The error of that flush, DeadlineExceeded,
  // or why the exporter is disabled.
  absl::Status Flush(absl::Time deadline);

  // Exports what waits, flushes and closes the exporter. In the first half of the time what waits is exported, the rest
  // of it is dropped then, so that a slow exporter can still complete its output. At the deadline the thread is
  // abandoned: what it had not taken is counted as dropped, what it was exporting as failed, its state is leaked, the
  // exporter is never called again, and the result is DeadlineExceeded. Otherwise the result is the first error that
  // disabled the exporter or that flushing and closing it gave.
  absl::Status Stop(absl::Time deadline);
  // Begins the same and returns at once. Called for all exporters before Stop is called for each, it gives every one of
  // them the whole time, also those behind one that hangs. The soonest deadline of all calls holds, also for a call of Stop
  // that waits already.
  void RequestStop(absl::Time deadline);

  ExporterCounts counts() const;
  // OK unless the exporter is disabled.
  absl::Status status() const;
  // Exporter::Destination(), as of the end of Open and then of Close.
  std::string destination() const;
  const std::string& name() const { return name_; }

 private:
  absl::Status Abandon(std::unique_lock<std::mutex> lock);

  const std::string name_;
  ExporterThread* state_;  // deleted by the destructor, unless the thread was abandoned
  std::thread thread_;
  bool stopped_ = false;
  bool abandoned_ = false;
  absl::Status stop_result_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_EXPORTER_RUNNER_H_
