// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/process_fork.h"

#include <pthread.h>

#include <atomic>
#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "exporters/memory/memory_exporter.h"
#include "ferret/internal/hot_path.h"
#include "runtime/crash/crash_file.h"
#include "runtime/device/cuda/cuda_session.h"
#include "runtime/export/registry.h"
#include "runtime/record/recorder.h"
#include "runtime/session/exit_watch.h"
#include "runtime/session/flight_signal.h"
#include "runtime/session/process_session.h"
#include "runtime/session/process_state.h"
#include "runtime/session/window_switch.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

// Null while no session is on. Written under the session lock, and read in a child, where nobody writes it: a pointer is
// whole even if another thread held the lock.
std::atomic<const Options*> g_plan{nullptr};

// Release by PrepareForForks, acquired by BeforeFork: what the handlers touch is there.
std::atomic<bool> g_prepared{false};
// Whether this thread, which forks, holds the locks.
__thread bool t_holds_locks FERRET_TLS_MODEL = false;

void SetPlan(const Options* plan) { delete g_plan.exchange(plan); }

// A copy: the session's start replaces it, and another thread's Stop frees it.
std::optional<Options> Plan() {
  const ProcessLock lock(TheProcess().mutex);
  const Options* const plan = g_plan.load();
  return plan == nullptr ? std::nullopt : std::make_optional(*plan);
}

// On the thread of the child's first record.
void StartInChild() {
  absl::Status status;
  try {
    const std::optional<Options> options = Plan();
    if (!options.has_value()) return;
    status = RestartSession(*options);
  } catch (...) {
    status = absl::ResourceExhaustedError("no memory");
  }
  if (status.ok()) return;
  {
    Process& process = TheProcess();
    std::lock_guard<std::timed_mutex> lock(process.mutex);
    if (process.run != nullptr) return;  // another thread of the child has just started one
    ClearForkPlan();
  }
  WriteStderrLine(
      absl::StrCat("FERRET_FORK=restart: ", std::string(status.message()), "; nothing is recorded in this child"));
}

void BeforeFork() {
  t_holds_locks = g_prepared.load(std::memory_order_acquire);
  if (!t_holds_locks) return;
  if (internal::Recorder::IsUnknownChild()) {
    // Whatever held the locks is not here, and what was planned was for children of the parent.
    ExporterRegistry::Global().RenewLock();
    g_plan.store(nullptr);
  }
  ExporterRegistry::Global().Lock();
  internal::Recorder::BeforeFork();
}

void AfterForkInParent() {
  if (!t_holds_locks) return;
  internal::Recorder::AfterForkInParent();
  ExporterRegistry::Global().Unlock();
}

// Allocates nothing and frees nothing: this also runs in children that go on to exec.
void AfterForkInChild() {
  if (!t_holds_locks) return;
  // First: a signal handler must not write to the parent's file.
  const bool memory_is_own = internal::CrashFile::AfterForkInChild();
  Process& process = TheProcess();
  new (&process) Process;
  process.is_forked_child = true;
  ForgetExitWatchInChild();
  SessionRun::ForgetParentInChild();
  WindowSwitch::Global().AfterForkInChild();
  FlightSignal::AfterForkInChild();
  internal::CudaSession::AfterForkInChild();
  ExporterRegistry::Global().Unlock();
  const Options* const plan = g_plan.load();
  ForgetLatestMemoryCollectorInChild();
  const bool records = memory_is_own && plan != nullptr && plan->fork == Options::Fork::kRestart && !plan->exporters.empty();
  const bool steps = records && plan->schedule.unit == Schedule::Unit::kSteps;
  // Last: from here on the child records.
  internal::Recorder::AfterForkInSessionChild(records ? &StartInChild : nullptr, steps);
}

// Before nearly everybody else's: handlers before a fork run in the reverse order, so Ferret's locks are taken after those
// of the program, whose threads may record while they hold theirs.
[[gnu::constructor]] void RegisterHandlers() { pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild); }

}  // namespace

void PrepareForForks() {
  // What a child touches is there, then, and no thread is in the middle of making it.
  TheProcess();
  WindowSwitch::Global();
  internal::CudaSession::PrepareForFork();
  g_prepared.store(true, std::memory_order_release);
}

void SetForkPlan(const Options& options) {
  auto* const plan = new Options(options);
  plan->plugins.clear();  // they are loaded
  SetPlan(plan);
}

void ClearForkPlan() { SetPlan(nullptr); }

bool HasForkPlan() { return g_plan.load() != nullptr; }

}  // namespace ferret
