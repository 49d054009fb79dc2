// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/flight_recorder.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/export/step_event.h"
#include "runtime/threads/background_thread.h"

namespace ferret {

// A dump while it is written.
struct FlightRecorder::Made {
  absl::Status status;
  std::vector<std::unique_ptr<ExporterRunner>> runners;
};

FlightRecorder::FlightRecorder(Config config)
    : config_(std::move(config)),
      bell_(config_.bell != nullptr ? *config_.bell : own_bell_),
      ring_({config_.flight.size_bytes, static_cast<int64_t>(config_.flight.last_ns)}) {
  for (const std::string& name : config_.outputs) outputs_.push_back({name, {}, {}, absl::OkStatus()});
}

bool FlightRecorder::Start() {
  bell_.TakeSignals();  // an earlier session's
  const BlockSignalsForNewThread block;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {  // no more threads: the caller is told
  }
  return thread_.joinable();
}

void FlightRecorder::Push(std::shared_ptr<EventBatch> batch) {
  const std::shared_ptr<const EventBatch> kept = batch;
  ring_.Push(std::move(batch));
  // Afterwards: the dump that a slow step asks for has it.
  if (config_.flight.slow_ns != 0 || config_.flight.slow_factor != 0) LookForSlowSteps(*kept);
  if (!config_.on_settled) return;
  const uint64_t settled = ring_.settled();
  if (settled != std::exchange(settled_, settled)) config_.on_settled(settled);
}

void FlightRecorder::WantSettled() {
  if (!config_.on_settled) return;
  ring_.ReleaseSome();
  const uint64_t settled = ring_.settled();
  if (settled != std::exchange(settled_, settled)) config_.on_settled(settled);
}

void FlightRecorder::LookForSlowSteps(const EventBatch& batch) {
  const Flight& flight = config_.flight;
  for (const FunctionEvent& event : batch.events) {
    int64_t number = 0;
    if (!event.is_user_annotation || !IsStep(event, &number)) continue;
    const int64_t duration_ns = event.duration_ns();
    const int64_t median_ns = steps_.Median();
    const bool slow = flight.slow_ns != 0 ? duration_ns > static_cast<int64_t>(flight.slow_ns)
                                          : steps_.IsSlow(duration_ns, flight.slow_factor);
    steps_.Add(duration_ns);
    if (!slow) continue;
    std::string why = absl::StrCat("step ", number, " took ", absl::FormatDuration(absl::Nanoseconds(duration_ns)));
    if (median_ns > 0) absl::StrAppend(&why, ", the median is ", absl::FormatDuration(absl::Nanoseconds(median_ns)));
    Dump(why).IgnoreError();  // Said once.
  }
}

absl::Status FlightRecorder::Dump(const std::string& why) {
  Lock lock(mutex_);
  return DumpUnlessTooMany(lock, why);
}

absl::Status FlightRecorder::DumpUnlessTooMany(Lock& lock, const std::string& why) {
  if (stopping_) return absl::FailedPreconditionError("the session is being stopped");
  if (pending_ == 0 && dumps_begun_ >= config_.flight.dumps) {
    const std::string line = absl::StrCat("no more dumps: there have been ", dumps_begun_,
                                          " (dumps= in FERRET_FLIGHT)");
    // Not here: this may be the drain's thread, which no full pipe may hold up.
    if (!std::exchange(told_of_limit_, true)) {
      to_say_ = absl::StrCat("flight recorder: ", line);
      bell_.Ring();
    }
    return absl::ResourceExhaustedError(line);
  }
  Ask(lock, why);
  return absl::OkStatus();
}

void FlightRecorder::Ask(Lock&, const std::string& why) {
  ++asked_;
  if (pending_++ == 0) why_ = why;
  bell_.Ring();
}

void FlightRecorder::TakeSignals(Lock& lock) {
  // Those that come later are the next session's, also if this thread is still in a dump then.
  if (stopping_ || bell_.TakeSignals() == 0) return;
  // Under the same lock: who waits for the dump must not come between.
  DumpUnlessTooMany(lock, "asked for by a signal").IgnoreError();  // Said once.
}

void FlightRecorder::Run() {
  pthread_setname_np(pthread_self(), "ferret-flight");
  if (config_.runner.on_thread_start != nullptr) config_.runner.on_thread_start();
  Lock lock(mutex_);
  for (;;) {
    TakeSignals(lock);
    if (const std::string line = std::exchange(to_say_, ""); !line.empty()) {
      lock.unlock();
      Say(line);
      lock.lock();
    }
    if (pending_ > 0) {
      MakeDump(lock);
    } else if (stopping_) {
      break;
    } else {
      lock.unlock();
      bell_.Wait();
      lock.lock();
    }
  }
  finished_ = true;
  changed_.notify_all();
}

void FlightRecorder::MakeDump(Lock& lock) {
  std::string why = std::exchange(why_, "");
  const uint64_t triggers = std::exchange(pending_, 0);
  const uint64_t answers = asked_;
  const uint64_t number = ++dumps_begun_;
  if (triggers > 1) absl::StrAppend(&why, " (and ", triggers - 1, " more)");
  lock.unlock();

  const CaughtUp caught_up = config_.catch_up ? config_.catch_up() : CaughtUp();
  const std::shared_ptr<const EventBatch>& open_scopes = caught_up.open_scopes;
  const FlightRing::Contents contents = ring_.Take(caught_up.last_batch);
  Made made = Open(absl::StrCat("dump", number), why, contents);
  for (const auto& runner : made.runners) {
    if (contents.notices != nullptr) runner->Push(contents.notices);
    for (const auto& batch : contents.batches) runner->Push(batch);
    if (open_scopes != nullptr && !open_scopes->empty()) runner->Push(open_scopes);
  }
  lock.lock();
  for (const auto& runner : made.runners) running_.push_back(runner.get());
  const absl::Time stop_at = stopping_ ? stop_at_ : absl::Now() + config_.dump_timeout;
  for (const auto& runner : made.runners) runner->RequestStop(stop_at);
  lock.unlock();
  // Stop may ask for less time meanwhile.
  absl::Status status = made.status;
  for (const auto& runner : made.runners) status.Update(runner->Stop(stop_at));

  std::vector<std::string> written;
  lock.lock();
  running_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    const bool there = i < made.runners.size();
    const ExporterCounts counts = there ? made.runners[i]->counts() : ExporterCounts();
    output.counts.exported += counts.fresh;
    output.counts.fresh += counts.fresh;
    output.counts.failed += contents.fresh - counts.fresh;
    output.counts.links_lost += counts.links_lost;
    output.status.Update(there ? made.runners[i]->status() : made.status);
    if (!there || counts.exported == 0) continue;
    const std::string destination = made.runners[i]->destination();
    output.destinations.push_back(destination);
    written.push_back(absl::StrCat(destination.empty() ? output.name : destination, ", ", counts.exported,
                                   counts.exported == 1 ? " event" : " events"));
  }
  lock.unlock();
  made.runners.clear();
  std::string line = absl::StrCat("flight recorder: dump ", number, ", ", why, ": ");
  for (size_t i = 0; i < written.size(); ++i) absl::StrAppend(&line, i == 0 ? "" : "; ", written[i]);
  if (!status.ok()) {
    absl::StrAppend(&line, written.empty() ? "" : "; ", std::string(status.message()));
  } else if (written.empty()) {
    absl::StrAppend(&line, "nothing was recorded");
  }
  Say(line);
  lock.lock();
  ++dumps_ended_;
  answered_ = answers;
  last_status_ = status;
  changed_.notify_all();
}

FlightRecorder::Made FlightRecorder::Open(const std::string& label, const std::string& why,
                                          const FlightRing::Contents& contents) {
  Made made;
  absl::StatusOr<std::vector<NamedExporter>> exporters = absl::InternalError("exporters could not be made");
  try {
    exporters = config_.make_exporters();
  } catch (const std::exception& exception) {
    exporters = absl::InternalError(absl::StrCat("exporters could not be made: ", exception.what()));
  } catch (...) {  // as above
  }
  if (!exporters.ok()) {
    made.status = exporters.status();
    return made;
  }
  for (NamedExporter& exporter : *exporters) {
    SessionInfo info = config_.info;
    info.label = label;
    // Shown in the output; also for plug-ins to tell dumps apart.
    info.options.emplace_back("FERRET_FLIGHT_DUMP", absl::StrCat(label, ", ", why));
    RunnerOptions runner = config_.runner;
    runner.name = exporter.name;
    // The batches are held anyway.
    runner.max_queue_bytes = std::numeric_limits<size_t>::max();
    runner.fresh_after = contents.fresh_after;
    runner.progress = [progress = config_.runner.progress, outside = contents.pushed - contents.count] {
      ExportProgress now = progress ? progress() : ExportProgress();
      now.events_discarded = outside;
      return now;
    };
    made.runners.push_back(
        std::make_unique<ExporterRunner>(std::move(exporter.exporter), std::move(info), std::move(runner)));
  }
  return made;
}

absl::Status FlightRecorder::WaitForDumps(absl::Time deadline) {
  const absl::Duration left = std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Hours(1000));
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(left);
  Lock lock(mutex_);
  TakeSignals(lock);
  const uint64_t asked = asked_;
  const bool done = changed_.wait_until(lock, until, [&] { return answered_ >= asked || finished_; });
  return done ? last_status_ : absl::DeadlineExceededError("the dump was not written in time");
}

absl::Status FlightRecorder::Stop(absl::Time deadline) {
  const absl::Duration left = std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Hours(1000));
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(left);
  if (!thread_.joinable()) return absl::OkStatus();
  Lock lock(mutex_);
  TakeSignals(lock);
  const uint64_t answered = answered_;
  if (config_.flight.at_exit) Ask(lock, "the end of the session");
  stopping_ = true;
  // Runners need a moment to be abandoned in.
  stop_at_ = absl::Now() + left * 3 / 4;
  for (ExporterRunner* runner : running_) runner->RequestStop(stop_at_);
  bell_.Ring();
  if (!changed_.wait_until(lock, until, [&] { return finished_; })) {
    lock.unlock();
    abandoned_ = true;
    thread_.detach();
    return absl::DeadlineExceededError("the flight recorder did not finish in time");
  }
  const absl::Status status = answered_ != answered ? last_status_ : absl::OkStatus();
  lock.unlock();
  thread_.join();
  ring_.DiscardAll();
  return status;
}

std::vector<FlightRecorder::Output> FlightRecorder::outputs() const {
  const FlightRing::Counts counts = ring_.counts();
  Lock lock(mutex_);
  std::vector<Output> outputs = outputs_;
  for (Output& output : outputs) {
    output.counts.pushed = counts.pushed;
    output.counts.discarded = counts.discarded;
    output.counts.waiting = counts.pushed - counts.discarded - output.counts.exported - output.counts.failed;
  }
  return outputs;
}

uint64_t FlightRecorder::dumps() const {
  Lock lock(mutex_);
  return dumps_ended_;
}

}  // namespace ferret
