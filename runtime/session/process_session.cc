// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/process_session.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/builtin.h"
#include "exporters/memory/memory_exporter.h"
#include "ferret/collected_events.h"
#include "ferret/internal/adapter.h"
#include "ferret/session.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/plugin_loader.h"
#include "runtime/export/registry.h"
#include "runtime/session/environment.h"
#include "runtime/session/run_report.h"
#include "runtime/session/window_switch.h"

namespace ferret {
namespace {

// Everything about the one session of the process. Never destroyed: threads may still call in when statics are.
struct Process {
  std::mutex mutex;  // guards the rest; never taken by a recording thread or by Ferret's own
  std::shared_ptr<SessionRun> run;  // shared with calls of Flush
  std::vector<std::shared_ptr<SessionRun>> abandoned;  // for ever: threads still use them
  Options options;
  // What Losses() answers between sessions.
  std::map<uint32_t, LossCounts> last_losses;
  DeviceCounts last_device_losses;
  bool is_forked_child = false;
};

Process& TheProcess() {
  static Process* process = new Process;
  return *process;
}

Error ErrorOf(const absl::Status& status) { return status.ok() ? "" : std::string(status.message()); }

void PrintLine(const std::string& line) {
  const std::string text = absl::StrCat("ferret: ", line, "\n");
  // One write, so that lines of many processes do not mix. Nothing can be done about an error.
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

void BeforeFork() { internal::Recorder::BeforeFork(); }
void AfterForkInParent() { internal::Recorder::AfterForkInParent(); }
void AfterForkInChild() {
  internal::Recorder::AfterForkInChild();
  // Another thread may have held the lock. It does not exist here, and what it guards belongs to the parent.
  Process& process = TheProcess();
  new (&process.mutex) std::mutex;
  process.is_forked_child = true;
  WindowSwitch::Global().AfterForkInChild();
  internal::CudaSession::AfterForkInChild();
}

void AtExit() {
  Process& process = TheProcess();
  absl::Duration timeout;
  {
    std::lock_guard<std::mutex> lock(process.mutex);
    if (process.run == nullptr || process.is_forked_child) return;
    timeout = process.options.stop_deadline;
  }
  const absl::Status status = StopSession(timeout);
  // Exporters have said themselves what went wrong with them.
  if (absl::IsDeadlineExceeded(status)) PrintLine(std::string(status.message()));
}

void PrepareProcessOnce() {
  static const bool prepared = [] {
    RegisterBuiltinExporters(ExporterRegistry::Global());
    pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
    std::atexit(&AtExit);
    return true;
  }();
  (void)prepared;
}

// Also for a plug-in that was loaded for an earlier session. Not under the session lock: a library that another thread
// is loading may hold the loader's lock and want the session's.
absl::Status LoadPlugins(const std::vector<std::string>& paths) {
  static std::mutex* const mutex = new std::mutex;
  static std::vector<std::string>* const loaded = new std::vector<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  for (const std::string& path : paths) {
    if (std::find(loaded->begin(), loaded->end(), path) != loaded->end()) continue;
    if (absl::Status status = LoadExporterPlugin(path, ExporterRegistry::Global()); !status.ok()) return status;
    loaded->push_back(path);
  }
  return absl::OkStatus();
}

absl::Duration DefaultTimeout() {
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(process.mutex);
  return process.options.stop_deadline;
}

// What a person wants to know at the end, if nobody else says it.
void Report(const Options& options, const SessionRun& run) {
  const LossCounts losses = run.Losses();
  for (const SessionRun::Output& output : run.Outputs()) {
    const uint64_t lost = losses.total() + output.counts.dropped + output.counts.failed;
    const uint64_t events = output.counts.exported;
    // "memory" goes nowhere; a plug-in does not say where it goes.
    if (output.name == "memory" || (events == 0 && lost == 0)) continue;
    const std::string& where = output.destination.empty() ? output.name : output.destination;
    if (!options.run_report.empty()) {
      (void)ReportClosed(options.run_report, events, lost, where);
    } else if (options.log == Options::Log::kInfo || (lost != 0 && options.log == Options::Log::kWarning)) {
      PrintLine(absl::StrCat(where, ": ", events, " events, ", lost, " lost"));
    }
  }
}

}  // namespace

absl::Status StartSession(const Options& options, std::vector<NamedExporter> more) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  PrepareProcessOnce();
  if (absl::Status status = LoadPlugins(options.plugins); !status.ok()) return status;
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(process.mutex);
  if (process.is_forked_child) {
    return absl::FailedPreconditionError("a forked child does not record (FERRET_FORK=off)");
  }
  if (process.run != nullptr) return absl::FailedPreconditionError("a session is on already: stop it first");

  absl::StatusOr<std::vector<ExporterSpec>> specs = ParseExporterSpecs(options.exporters);
  if (!specs.ok()) return specs.status();
  std::vector<NamedExporter> exporters = std::move(more);
  for (const ExporterSpec& spec : *specs) {
    absl::StatusOr<std::unique_ptr<Exporter>> exporter = ExporterRegistry::Global().Create(spec);
    if (!exporter.ok()) return exporter.status();
    exporters.push_back({spec.name, std::move(*exporter)});
  }
  if (exporters.empty()) return absl::InvalidArgumentError("no exporter: what is recorded would go nowhere");

  absl::StatusOr<std::unique_ptr<SessionRun>> run = SessionRun::Start(options, std::move(exporters));
  if (!run.ok()) return run.status();
  process.run = std::move(*run);
  process.options = options;
  return absl::OkStatus();
}

absl::Status StopSession(absl::Duration timeout) {
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(process.mutex);
  if (process.run == nullptr || process.is_forked_child) return absl::OkStatus();
  absl::Status status;
  {
    // A copy that shares nothing with the run, which a thread that is still in Flush may be the one to destroy.
    const absl::Status result = process.run->Stop(absl::Now() + timeout);
    status = absl::Status(result.code(), result.message());
  }
  process.last_losses = process.run->LossesByThread();
  process.last_device_losses = process.run->DeviceLosses();
  Report(process.options, *process.run);
  if (process.run->abandoned()) process.abandoned.push_back(process.run);
  process.run.reset();
  return status;
}

void StartSessionFromEnvironment() {
  if (!RecordingRequested()) return;
  // Processes that this one starts belong to the same run: their files must not replace each other's.
  PublishRunId();
  absl::StatusOr<Options> options = OptionsFromEnvironment();
  const absl::Status status = options.ok() ? StartSession(*options, {}) : options.status();
  if (!status.ok()) {
    PrintLine(absl::StrCat(status.message(), "; nothing is recorded"));
    return;
  }
  if (!options->run_report.empty()) return;  // `ferret run` has said it once for all processes
  const std::string unknown = UnknownVariables(environ);
  if (!unknown.empty() && options->log >= Options::Log::kWarning) PrintLine(unknown);
}

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

Error Stop() { return ErrorOf(StopSession(DefaultTimeout())); }

Error Stop(int64_t deadline_ms) { return ErrorOf(StopSession(absl::Milliseconds(deadline_ms))); }

Error Flush() { return Flush(absl::ToInt64Milliseconds(DefaultTimeout())); }

Error Flush(int64_t deadline_ms) {
  Process& process = TheProcess();
  const absl::Time deadline = absl::Now() + absl::Milliseconds(deadline_ms);
  std::shared_ptr<SessionRun> run;
  {
    std::lock_guard<std::mutex> lock(process.mutex);
    if (process.run == nullptr || process.is_forked_child) return "";
    run = process.run;
  }
  // Waits without the lock: an exporter that hangs must not keep another thread from stopping.
  return ErrorOf(run->Flush(deadline));
}

bool IsRecording() { return internal::Enabled(); }

LossCounts Losses() {
  LossCounts losses;
  for (const ThreadLoss& thread : LossesByThread()) losses += thread.lost;
  return losses;
}

std::vector<ThreadLoss> LossesByThread() {
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(process.mutex);
  const bool is_on = process.run != nullptr && !process.is_forked_child;
  std::vector<ThreadLoss> losses;
  for (const auto& [thread, lost] : is_on ? process.run->LossesByThread() : process.last_losses) {
    losses.push_back({thread, lost});
  }
  return losses;
}

DeviceCounts DeviceLosses() {
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(process.mutex);
  const bool is_on = process.run != nullptr && !process.is_forked_child;
  return is_on ? process.run->DeviceLosses() : process.last_device_losses;
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
