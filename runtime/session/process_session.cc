// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/process_session.h"

#include <unistd.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "exporters/builtin.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/registry.h"
#include "runtime/record/recorder.h"
#include "runtime/session/at_exit.h"
#include "runtime/session/environment.h"
#include "runtime/session/exit_watch.h"
#include "runtime/session/final_lines.h"
#include "runtime/session/loaded_plugins.h"
#include "runtime/session/process_fork.h"
#include "runtime/session/process_state.h"
#include "runtime/session/runtime_copy.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

// What a session may take to stop beyond its deadline.
constexpr absl::Duration kPatienceAtExit = absl::Milliseconds(500);

void DumpFrom(Process& process, std::shared_ptr<SessionRun> run) {
  std::lock_guard<std::mutex> lock(process.dump_mutex);
  process.dumps_from.swap(run);
}

void PrepareProcessOnce() {
  static const bool prepared = [] {
    RegisterBuiltinExporters(ExporterRegistry::Global());
    PrepareForForks();
    StopSessionAtExit();
    RunId();  // drawn while no other thread can be in the middle of that in a fork
    return true;
  }();
  (void)prepared;
}

void StopAtOnce() { StopSession(DefaultStopTimeout()).IgnoreError(); }

// Under the lock.
absl::Status StartRun(const Options& options, std::vector<NamedExporter> more) {
  Process& process = TheProcess();
  absl::StatusOr<std::vector<ExporterSpec>> specs = ParseExporterSpecs(options.exporters);
  if (!specs.ok()) return specs.status();
  if (options.flight.size_bytes != 0 && !more.empty()) {
    return absl::InvalidArgumentError("a flight recorder makes its exporters anew for each dump: they need names");
  }
  const auto make_exporters = [specs = std::move(*specs)]() -> absl::StatusOr<std::vector<NamedExporter>> {
    std::vector<NamedExporter> exporters;
    for (const ExporterSpec& spec : specs) {
      absl::StatusOr<std::unique_ptr<Exporter>> exporter = ExporterRegistry::Global().Create(spec);
      if (!exporter.ok()) return exporter.status();
      exporters.push_back({spec.name, std::move(*exporter)});
    }
    return exporters;
  };
  absl::StatusOr<std::vector<NamedExporter>> named = make_exporters();
  if (!named.ok()) return named.status();
  std::vector<NamedExporter> exporters = std::move(more);
  std::move(named->begin(), named->end(), std::back_inserter(exporters));
  if (exporters.empty()) return absl::InvalidArgumentError("no exporter: what is recorded would go nowhere");

  absl::StatusOr<std::unique_ptr<SessionRun>> run = SessionRun::Start(options, std::move(exporters), make_exporters);
  if (!run.ok()) return run.status();
  process.run = std::move(*run);
  process.options = options;
  DumpFrom(process, process.run);
  process.stop_deadline_ms = absl::ToInt64Milliseconds(options.stop_deadline);
  SetForkPlan(options);
  return absl::OkStatus();
}

enum class Starter { kProgram, kFirstRecordOfChild };

absl::Status StartUnderLock(Options options, std::vector<NamedExporter> more, Starter starter) {
  Process& process = TheProcess();
  const ProcessLock lock(process.mutex);
  if (starter == Starter::kFirstRecordOfChild && !HasForkPlan()) return absl::OkStatus();
  if (process.is_forked_child && options.fork == Options::Fork::kOff) {
    return absl::FailedPreconditionError("a forked child does not record (FERRET_FORK=off)");
  }
  if (process.run != nullptr) return absl::FailedPreconditionError("a session is on already: stop it first");
  options.in_forked_child = process.is_forked_child;
  // Not by itself meanwhile, which could be on this thread, nor any more if this works.
  void (*const restart)() = internal::Recorder::CancelRestart();
  const absl::Status status = StartRun(options, std::move(more));
  if (!status.ok()) internal::Recorder::AllowRestart(restart);
  return status;
}

absl::Status StartSession(const Options& options, std::vector<NamedExporter> more, Starter starter) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  if (internal::Recorder::IsUnknownChild()) {
    return absl::FailedPreconditionError("a child that was made by the clone system call does not record");
  }
  if (absl::Status status = ClaimProcess(); !status.ok()) return status;
  PrepareProcessOnce();
  FindExitHook();
  if (absl::Status status = LoadPlugins(options.plugins); !status.ok()) return status;
  const absl::Status status = StartUnderLock(options, std::move(more), starter);
  if (status.ok()) WatchForExit(&StopAtOnce, options.stop_deadline + kPatienceAtExit);
  return status;
}

}  // namespace

absl::Status StartSession(const Options& options, std::vector<NamedExporter> more) {
  return StartSession(options, std::move(more), Starter::kProgram);
}

absl::Status RestartSession(const Options& options) { return StartSession(options, {}, Starter::kFirstRecordOfChild); }

absl::Duration DefaultStopTimeout() {
  if (internal::Recorder::IsUnknownChild()) return absl::ZeroDuration();
  return absl::Milliseconds(TheProcess().stop_deadline_ms.load());
}

absl::Status StopSession(absl::Duration timeout) {
  if (internal::Recorder::IsUnknownChild()) return absl::OkStatus();
  Process& process = TheProcess();
  const absl::Time deadline = absl::Now() + timeout;
  ProcessLock lock;
  if (absl::Status locked = LockUntil(deadline, &lock); !locked.ok()) return locked;
  // Of a forked child, that would start with its next record: first, as that may be this thread's.
  internal::Recorder::CancelRestart();
  ClearForkPlan();
  if (process.run == nullptr) return absl::OkStatus();
  DumpFrom(process, nullptr);
  absl::Status status;
  {
    // A copy that shares nothing with the run, which a thread that is still in Flush may be the one to destroy.
    const absl::Status result = process.run->Stop(deadline);
    status = absl::Status(result.code(), result.message());
  }
  process.last_losses = process.run->LossesByThread();
  process.last_device_losses = process.run->DeviceLosses();
  TellOfOutputs(process.options, *process.run);
  if (process.run->has_left_threads() || absl::IsDeadlineExceeded(status)) WatchForLastThread();
  if (process.run->abandoned()) process.abandoned.push_back(process.run);
  process.run.reset();
  return status;
}

void StartSessionFromEnvironment() {
  if (!RecordingRequested()) return;
  // Processes that this one starts belong to the same run: their files must not replace each other's.
  PublishRunId();
  absl::StatusOr<Options> options = OptionsFromEnvironment();
  if (const absl::Status claim = ClaimProcess(); options.ok() && !claim.ok()) {
    if (options->log >= Options::Log::kWarning) WriteStderrLine(std::string(claim.message()));
    return;
  }
  const absl::Status status = options.ok() ? StartSession(*options, {}) : options.status();
  if (!status.ok()) {
    WriteStderrLine(absl::StrCat(status.message(), "; nothing is recorded"));
    return;
  }
  if (!options->run_report.empty()) return;  // `ferret run` has said it once for all processes
  const std::string unknown = UnknownVariables(environ);
  if (!unknown.empty() && options->log >= Options::Log::kWarning) WriteStderrLine(unknown);
}

}  // namespace ferret
