// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/exporter_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/threads/write_signal_guard.h"

namespace ferret {
namespace {

RunnerOptions WithClock(RunnerOptions options) {
  if (options.clock == nullptr) options.clock = RealRunnerClock();
  return options;
}

}  // namespace

ExporterThread::ExporterThread(std::unique_ptr<Exporter> exporter, SessionInfo info, RunnerOptions options)
    : queue(options.max_queue_bytes, options.fresh_after),
      exporter_(std::move(exporter)),
      info_(std::move(info)),
      options_(WithClock(std::move(options))) {
  if (info_.file_opened == nullptr) return;
  info_.file_opened = [this, session = std::move(info_.file_opened)](const std::string& temporary_path,
                                                                     const std::string& final_path) {
    std::lock_guard<std::mutex> lock(session_mutex_);
    if (session_called_) session(temporary_path, final_path);
  };
}

void ExporterThread::Run() {
  pthread_setname_np(pthread_self(), absl::StrCat("ferret-", options_.name).substr(0, 15).c_str());
  if (options_.on_thread_start != nullptr) options_.on_thread_start();

  Lock lock(mutex);
  Open(lock);
  while (Step(lock)) {
  }
  if (active()) Close(lock);
  if (abandoned) return;

  lock.unlock();
  exporter_.reset();  // here, since it may block as any other call may
  lock.lock();
  finished = true;
  done.notify_all();
}

void ExporterThread::FailToStart(const absl::Status& status) {
  Report(absl::StrCat("no thread could be started: ", status.message()));
  Lock lock(mutex);
  Disable(lock, status);
  finished = true;
}

void ExporterThread::Open(Lock& lock) {
  const absl::Status status = Call(lock, "Open", [this] { return exporter_->Open(info_); });
  if (!status.ok() && active()) Disable(lock, status);
  if (active()) ReadDestination(lock);
}

bool ExporterThread::Step(Lock& lock) {
  if (!active()) return false;
  const RunnerClock::Time now = clock().Now();
  if (stopping && now >= drain_until && !queue.empty()) {
    const auto given_up = queue.DropWaiting(absl::CancelledError("the exporter is being stopped"));
    done.notify_all();
    lock.unlock();  // batches are freed without it
  } else if (dirty_ && (now >= flush_due_ || (flush_soon && queue.empty()))) {
    Flush(lock, clock().After(options_.flush_timeout), /*awaited=*/false).IgnoreError();  // reported, and tried again
  } else if (!queue.empty()) {
    ExportEntry(lock, queue.Take());
  } else if (stopping) {
    return false;
  } else if (dirty_) {
    clock().WaitUntil(work, lock, flush_due_);
  } else {
    work.wait(lock);
  }
  if (!lock.owns_lock()) lock.lock();
  return true;
}

void ExporterThread::ExportEntry(Lock& lock, ExporterQueue::Entry entry) {
  if (entry.flush != nullptr) {
    const absl::Status status = Flush(lock, entry.flush->deadline);
    if (abandoned) return;
    entry.flush->status = status;
    entry.flush->done = true;
    done.notify_all();
    return;
  }
  ExportThreads(lock, std::move(entry.missed_threads));
  if (!active()) return;  // the batch has been counted
  const absl::Status status = Call(lock, "Export", [&] {
    absl::Status result = exporter_->Export(*entry.batch);
    entry.batch.reset();  // frees it, and without the lock
    return result;
  });
  if (!active()) return;
  queue.Finish(status.ok());
  // After an error too: what the exporter did before it failed may be half of a buffer.
  if (!dirty_) flush_due_ = clock().After(options_.flush_interval);
  dirty_ = true;
}

void ExporterThread::ExportThreads(Lock& lock, std::vector<ThreadInfo> threads) {
  if (threads.empty()) return;
  EventBatch batch;
  batch.threads = std::move(threads);
  // An error is reported, and no more: nothing that is accounted for was in there.
  Call(lock, "Export", [&] { return exporter_->Export(batch); }).IgnoreError();
}

absl::Status ExporterThread::Flush(Lock& lock, RunnerClock::Time deadline, bool awaited) {
  flush_soon = false;
  const ExportProgress progress = Progress(lock);
  if (abandoned) return absl::CancelledError("abandoned");
  bool needs_flush = false;
  const absl::Status status = Call(lock, "Flush", [&] {
    const absl::Time until = clock().ToWallClock(deadline);
    absl::Status flushed =
        awaited ? exporter_->Flush(progress, until) : exporter_->FlushInBackground(progress, until);
    needs_flush = exporter_->NeedsFlush();
    return flushed;
  });
  // After an error it is tried again, and no sooner than after an interval.
  dirty_ = !status.ok() || needs_flush;
  if (status.ok()) {
    flush_fails_since_.reset();
  } else if (!flush_fails_since_.has_value()) {
    flush_fails_since_ = clock().Now();
  }
  flush_due_ = clock().After(options_.flush_interval);
  if (status.ok() && active()) TellSettled(lock);
  return status;
}

void ExporterThread::TellSettled(Lock& lock) {
  if (!options_.on_settled) return;
  const uint64_t batch = queue.Settled();
  Call(lock, "Durable", [&] {
    options_.on_settled(std::min(batch, exporter_->SettledBatch()), exporter_->Durable());
    return absl::OkStatus();
  }).IgnoreError();
}

void ExporterThread::Close(Lock& lock) {
  ExportThreads(lock, queue.TakeMissedThreads());
  if (!active()) return;
  const absl::Status flushed = Flush(lock, flush_until);
  if (!active()) return;
  const ExportProgress progress = Progress(lock);
  if (abandoned) return;
  // Stop may be asked once more meanwhile.
  const absl::Status closed = Call(lock, "Close", [&, until = close_until] {
    return exporter_->Close(progress, clock().ToWallClock(until));
  });
  if (active()) ReadDestination(lock);
  uint64_t not_delivered = 0;
  if (active()) {
    Call(lock, "NotDelivered", [&] {
      not_delivered = exporter_->NotDelivered();
      return absl::OkStatus();
    }).IgnoreError();
  }
  if (active()) queue.TakeBack(not_delivered);
  if (active()) close_status = flushed.ok() ? closed : flushed;
}

void ExporterThread::ReadDestination(Lock& lock) {
  std::string text;
  Call(lock, "Destination", [&] {
    text = exporter_->Destination();
    return absl::OkStatus();
  }).IgnoreError();
  if (active()) destination = std::move(text);
}

void ExporterThread::Disable(Lock& lock, const absl::Status& status) {
  disabled = status;
  auto given_up = queue.FailAll(status);
  done.notify_all();
  lock.unlock();  // batches are freed without it
  given_up.clear();
  if (options_.on_settled) options_.on_settled(UINT64_MAX, std::nullopt);
  lock.lock();
}

ExportProgress ExporterThread::Progress(Lock& lock) {
  ExportProgress progress;
  lock.unlock();
  {
    std::lock_guard<std::mutex> session_lock(session_mutex_);
    if (session_called_ && options_.progress) progress = options_.progress();
  }
  lock.lock();
  progress.lost[LossReason::kExporterDropped] += queue.counts().dropped;
  progress.lost[LossReason::kExporterFailed] += queue.counts().failed;
  return progress;
}

template <typename Function>
absl::Status ExporterThread::Call(Lock& lock, const char* what, Function function) {
  call_since = clock().Now();
  lock.unlock();
  absl::Status status;
  bool threw = true;
  try {
    status = function();
    threw = false;
  } catch (const std::exception& exception) {
    status = absl::InternalError(absl::StrCat(what, " threw an exception: ", exception.what()));
  } catch (...) {
    status = absl::InternalError(absl::StrCat(what, " threw an exception"));
  }
  if (threw) {
    Report(absl::StrCat(absl::string_view(status.message()), "; it is disabled"));
  } else if (!status.ok() && IsNews(status)) {
    Report(absl::StrCat(what, " failed: ", status.ToString()));
  }
  lock.lock();
  call_since.reset();
  if (threw && active()) Disable(lock, status);
  return status;
}

std::deque<ExporterQueue::Entry> ExporterThread::GiveUpIfHanging() {
  if (!options_.on_given_up || !active()) return {};
  const auto for_too_long = [&, now = clock().Now()](const std::optional<RunnerClock::Time>& since) {
    return since.has_value() && now - *since > absl::ToChronoNanoseconds(options_.longest_wait);
  };
  if (for_too_long(flush_fails_since_)) options_.on_given_up(queue.Settled());
  if (!for_too_long(call_since)) return {};
  auto given_up = queue.DropWaiting(absl::UnavailableError("the exporter hangs, and what waited for it was dropped"));
  done.notify_all();
  options_.on_given_up(queue.last_sequence());
  return given_up;
}

// A full disk fails every call from then on, and each of them for the same reason.
bool ExporterThread::IsNews(const absl::Status& status) {
  constexpr size_t kMaxReports = 8;
  if (reported_.size() >= kMaxReports || std::find(reported_.begin(), reported_.end(), status) != reported_.end()) {
    return false;
  }
  reported_.push_back(status);
  return true;
}

void ExporterThread::ForgetSession() {
  std::lock_guard<std::mutex> lock(session_mutex_);
  session_called_ = false;
}

void ExporterThread::Report(const std::string& text) const {
  std::string line = absl::StrCat("ferret: exporter ", options_.name, ": ", text);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  if (options_.report != nullptr) {
    options_.report(line);
    return;
  }
  line.push_back('\n');
  // It may be the host's thread. One call, so that lines of several threads do not mix; a closed standard error is nobody's problem.
  const WriteSignalGuard guard;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace ferret
