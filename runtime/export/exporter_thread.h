// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExporterThread: what an exporter's thread does, and the state that it shares with its ExporterRunner.
//
// A part of exporter_runner.cc, apart only so that each side of the lock can be read alone: Run and everything private
// belongs to the exporter's thread, the public members are guarded by `mutex`, which is never held during a call of the
// exporter, of the session's progress or of the reporter.

#ifndef FERRET_RUNTIME_EXPORT_EXPORTER_THREAD_H_
#define FERRET_RUNTIME_EXPORT_EXPORTER_THREAD_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/export/exporter.h"
#include "runtime/export/exporter_queue.h"
#include "runtime/export/exporter_runner.h"
#include "runtime/export/runner_clock.h"

namespace ferret {

class ExporterThread {
 public:
  ExporterThread(std::unique_ptr<Exporter> exporter, SessionInfo info, RunnerOptions options);

  // The body of the thread.
  void Run();
  // For a thread that could not be started: what Run would do if Open failed with `status`.
  void FailToStart(const absl::Status& status);

  // The caller must hold no lock that the session's progress takes. Afterwards the session is never called again.
  void ForgetSession();
  // One line, whatever the text. Any thread.
  void Report(const std::string& text) const;

  // For FlushSoon, with the lock held: if a call has lasted for too long, what waits is dropped, and returned, and whoever
  // waits for it to be settled is told. So is he of what the exporter has had when flushes have failed for as long.
  std::deque<ExporterQueue::Entry> GiveUpIfHanging();

  RunnerClock& clock() const { return *options_.clock; }

  std::mutex mutex;
  std::condition_variable work;  // to the exporter's thread: an entry, or stopping
  std::condition_variable done;  // to callers of Flush and Stop: a request is done, or finished
  ExporterQueue queue;
  absl::Status disabled;   // why, once the exporter is called no more
  bool flush_soon = false;  // what is exported is to be flushed as soon as nothing waits, or it is due
  bool stopping = false;   // set by RequestStop, with the times below
  bool abandoned = false;  // set by Stop at its deadline: the thread may touch nothing any more
  bool finished = false;   // the exporter is destroyed, the thread is about to end
  RunnerClock::Time drain_until, flush_until, close_until, stop_at;
  absl::Status close_status;
  std::string destination;
  // Since when the exporter is in a call, while it is in one.
  std::optional<RunnerClock::Time> call_since;

  // Keeps an abandoned state reachable, for leak checkers. Written once, by Stop.
  ExporterThread* next_abandoned = nullptr;

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool active() const { return !abandoned && disabled.ok(); }
  void Open(Lock& lock);
  bool Step(Lock& lock);  // false when there is nothing more to do
  void ExportEntry(Lock& lock, ExporterQueue::Entry entry);
  void ExportThreads(Lock& lock, std::vector<ThreadInfo> threads);
  absl::Status Flush(Lock& lock, RunnerClock::Time deadline, bool awaited = true);
  void TellSettled(Lock& lock);
  void Close(Lock& lock);
  void ReadDestination(Lock& lock);
  void Disable(Lock& lock, const absl::Status& status);
  ExportProgress Progress(Lock& lock);  // asks the session without the lock
  // Calls the exporter without the lock. An exception disables the exporter; errors are reported, each once.
  template <typename Function>
  absl::Status Call(Lock& lock, const char* what, Function function);
  bool IsNews(const absl::Status& status);

  std::unique_ptr<Exporter> exporter_;
  SessionInfo info_;  // file_opened is not called any more once the session is forgotten
  const RunnerOptions options_;

  std::mutex session_mutex_;  // guards session_called_; held during every call of the session
  bool session_called_ = true;

  // Something was exported since the last flush, which is due at flush_due_.
  bool dirty_ = false;
  RunnerClock::Time flush_due_;
  std::optional<RunnerClock::Time> flush_fails_since_;  // until one succeeds
  std::vector<absl::Status> reported_;  // a few
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_EXPORTER_THREAD_H_
