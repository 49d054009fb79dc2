// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of ferret/session.h, and of other public headers that ask about the session.

#include "ferret/session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "exporters/memory/memory_exporter.h"
#include "ferret/collected_events.h"
#include "ferret/internal/adapter.h"
#include "runtime/device/cuda/cuda_session.h"
#include "runtime/record/recorder.h"
#include "runtime/session/environment.h"
#include "runtime/session/process_session.h"
#include "runtime/session/process_state.h"
#include "runtime/session/window_switch.h"

namespace ferret {
namespace {

Error ErrorOf(const absl::Status& status) { return status.ok() ? "" : std::string(status.message()); }

}  // namespace

Error Start(const std::string& exporters) {
  absl::StatusOr<Options> options = OptionsFromEnvironment();
  if (!options.ok()) return ErrorOf(options.status());
  options->exporters = exporters;
  return ErrorOf(StartSession(*options, {}));
}

Error Start(const std::string& exporters, const Schedule& schedule) {
  absl::StatusOr<Options> options = OptionsFromEnvironment();
  if (!options.ok()) return ErrorOf(options.status());
  options->exporters = exporters;
  options->schedule = schedule;
  return ErrorOf(StartSession(*options, {}));
}

Error Start(const std::string& exporters, const Flight& flight) {
  absl::StatusOr<Options> options = OptionsFromEnvironment();
  if (!options.ok()) return ErrorOf(options.status());
  options->exporters = exporters;
  options->flight = flight;
  return ErrorOf(StartSession(*options, {}));
}

Error Stop() { return ErrorOf(StopSession(DefaultStopTimeout())); }

Error Stop(int64_t deadline_ms) { return ErrorOf(StopSession(absl::Milliseconds(deadline_ms))); }

Error Flush() { return Flush(absl::ToInt64Milliseconds(DefaultStopTimeout())); }

Error Flush(int64_t deadline_ms) {
  if (internal::Recorder::IsUnknownChild()) return "";
  Process& process = TheProcess();
  const absl::Time deadline = absl::Now() + absl::Milliseconds(deadline_ms);
  std::shared_ptr<SessionRun> run;
  {
    ProcessLock lock;
    if (absl::Status locked = LockUntil(deadline, &lock); !locked.ok()) return ErrorOf(locked);
    if (process.run == nullptr) return "";
    run = process.run;
  }
  // Waits without the lock: an exporter that hangs must not keep another thread from stopping.
  return ErrorOf(run->Flush(deadline));
}

Error Dump() {
  if (internal::Recorder::IsUnknownChild()) return "no session is on";
  Process& process = TheProcess();
  std::shared_ptr<SessionRun> run;
  {
    std::lock_guard<std::mutex> lock(process.dump_mutex);
    run = process.dumps_from;
  }
  return run == nullptr ? "no session is on" : ErrorOf(run->Dump());
}

bool IsRecording() { return internal::Enabled(); }

LossCounts Losses() {
  LossCounts losses;
  for (const ThreadLoss& thread : LossesByThread()) losses += thread.lost;
  return losses;
}

std::vector<ThreadLoss> LossesByThread() {
  if (internal::Recorder::IsUnknownChild()) return {};
  Process& process = TheProcess();
  const ProcessLock lock(process.mutex);
  const bool is_on = process.run != nullptr;
  std::vector<ThreadLoss> losses;
  for (const auto& [thread, lost] : is_on ? process.run->LossesByThread() : process.last_losses) {
    losses.push_back({thread, lost});
  }
  return losses;
}

DeviceCounts DeviceLosses() {
  if (internal::Recorder::IsUnknownChild()) return {};
  Process& process = TheProcess();
  const ProcessLock lock(process.mutex);
  return process.run != nullptr ? process.run->DeviceLosses() : process.last_device_losses;
}

std::string CudaStatus() { return internal::CudaSession::StatusText(); }

CollectedEvents TakeCollectedEvents() {
  CollectedEvents collected;
  const std::shared_ptr<MemoryCollector> collector = LatestMemoryCollector();
  if (collector == nullptr) return collected;
  const CollectedTrace trace = collector->Take();
  collected.events = trace.ToEventList();
  collected.events_not_kept = trace.events_not_kept;
  collected.complete = trace.complete();
  return collected;
}

namespace internal {

bool AddSessionObserver(void (*observer)(bool recording)) {
  return WindowSwitch::Global().recording_observers().Add(observer);
}

bool AddStepObserver(void (*observer)(bool counting)) {
  return WindowSwitch::Global().step_observers().Add(observer);
}

}  // namespace internal
}  // namespace ferret
