// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/exporter_runner.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/export/exporter_thread.h"
#include "runtime/threads/background_thread.h"

namespace ferret {
namespace {

// Head of the list of abandoned states, which nobody reads. Relaxed: each element is only ever looked at by its thread.
std::atomic<ExporterThread*> g_abandoned{nullptr};

}  // namespace

ExporterRunner::ExporterRunner(std::unique_ptr<Exporter> exporter, SessionInfo info, RunnerOptions options)
    : name_(options.name), state_(new ExporterThread(std::move(exporter), std::move(info), std::move(options))) {
  const BlockSignalsForNewThread block;
  try {
    thread_ = std::thread([state = state_] { state->Run(); });
  } catch (const std::system_error& error) {
    state_->FailToStart(absl::ResourceExhaustedError(error.what()));
  }
}

ExporterRunner::~ExporterRunner() {
  Stop(absl::Now() + absl::Seconds(2)).IgnoreError();
  if (!abandoned_) delete state_;
}

void ExporterRunner::Push(std::shared_ptr<const EventBatch> batch, bool wake) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (!state_->disabled.ok()) {
      state_->queue.Fail(*batch);
    } else if (state_->stopping) {
      state_->queue.Drop(*batch);
    } else {
      state_->queue.Push(std::move(batch));
    }
    wake |= state_->queue.IsQuarterFull();
  }
  if (wake) Wake();
}

void ExporterRunner::Wake() { state_->work.notify_one(); }

void ExporterRunner::FlushSoon() {
  std::deque<ExporterQueue::Entry> given_up;  // freed without the lock
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->flush_soon = true;
    given_up = state_->GiveUpIfHanging();
  }
  state_->work.notify_one();
}

absl::Status ExporterRunner::Flush(absl::Time deadline) {
  const auto request = std::make_shared<FlushRequest>();
  request->deadline = state_->clock().At(deadline);
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (!state_->disabled.ok()) return state_->disabled;
  if (state_->stopping) return absl::FailedPreconditionError("the exporter is being stopped");
  state_->queue.PushFlush(request);
  state_->work.notify_one();
  while (!request->done && !state_->abandoned) {
    if (state_->clock().Now() >= request->deadline) {
      return absl::DeadlineExceededError("the exporter did not flush in time");
    }
    state_->clock().WaitUntil(state_->done, lock, request->deadline);
  }
  return request->done ? request->status : absl::DeadlineExceededError("the exporter was abandoned");
}

void ExporterRunner::RequestStop(absl::Time deadline) {
  const RunnerClock::Time now = state_->clock().Now();
  const RunnerClock::Time stop_at = state_->clock().At(deadline);
  // The last eighth is for an exporter that uses up all the time it is given to return from Close.
  const auto eighth = (stop_at - now) / 8;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (!state_->stopping) state_->drain_until = state_->flush_until = state_->close_until = state_->stop_at = stop_at;
    state_->stopping = true;
    state_->drain_until = std::min(state_->drain_until, now + 4 * eighth);
    state_->flush_until = std::min(state_->flush_until, now + 6 * eighth);
    state_->close_until = std::min(state_->close_until, now + 7 * eighth);
    state_->stop_at = std::min(state_->stop_at, stop_at);
  }
  state_->work.notify_one();
  state_->done.notify_all();
}

absl::Status ExporterRunner::Stop(absl::Time deadline) {
  if (stopped_) return stop_result_;
  stopped_ = true;
  RequestStop(deadline);
  RunnerClock& clock = state_->clock();
  std::unique_lock<std::mutex> lock(state_->mutex);
  while (!state_->finished && clock.Now() < state_->stop_at) clock.WaitUntil(state_->done, lock, state_->stop_at);
  if (!state_->finished) return stop_result_ = Abandon(std::move(lock));
  stop_result_ = !state_->disabled.ok() ? state_->disabled : state_->close_status;
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  return stop_result_;
}

absl::Status ExporterRunner::Abandon(std::unique_lock<std::mutex> lock) {
  const absl::Status status = absl::DeadlineExceededError("the exporter did not stop in time and was abandoned");
  state_->abandoned = abandoned_ = true;
  const auto given_up = state_->queue.AbandonAll(status);
  const ExporterCounts counts = state_->queue.counts();
  state_->done.notify_all();
  lock.unlock();

  state_->next_abandoned = g_abandoned.load(std::memory_order_relaxed);
  while (!g_abandoned.compare_exchange_weak(state_->next_abandoned, state_, std::memory_order_relaxed)) {
  }
  state_->ForgetSession();
  thread_.detach();
  state_->Report(absl::StrCat("did not stop in time and was abandoned; it lost ", counts.dropped + counts.failed,
                              " of ", counts.pushed, " events"));
  return status;
}

ExporterCounts ExporterRunner::counts() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->queue.counts();
}

absl::Status ExporterRunner::status() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->disabled;
}

std::string ExporterRunner::destination() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->destination;
}

}  // namespace ferret
