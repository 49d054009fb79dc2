// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/step_counter.h"

#include <memory>
#include <mutex>
#include <new>

#include "adapters/torch/name_cache.h"
#include "adapters/torch/torch_api.h"
#include "ferret/internal/adapter.h"
#include "ferret/internal/record_format.h"
#include "runtime/threads/stderr_line.h"

namespace ferret::torch_adapter {
namespace {

// Optimizers' steps that run on this thread, one inside of the other. No constructor: safe in thread exit.
thread_local int t_depth = 0;

bool IsOptimizerStep(const at::RecordFunction& fn) { return (UserNameFlags(fn.name()) & internal::kEndsStep) != 0; }

// PyTorch calls both for a scope or none of them.
std::unique_ptr<at::ObserverContext> OnAnnotationBegin(const at::RecordFunction& fn) {
  t_depth += IsOptimizerStep(fn);
  return nullptr;
}

void OnAnnotationEnd(const at::RecordFunction& fn, at::ObserverContext* /*context*/) {
  if (!IsOptimizerStep(fn)) return;
  // Not below 0, should a scope end on another thread than it began on.
  if (t_depth > 0 && --t_depth == 0) internal::OptimizerStepped();
}

// Guards what follows. Leaked: a session may stop after static objects are gone.
std::mutex& Mutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}
at::CallbackHandle g_callback = at::INVALID_CALLBACK_HANDLE;
bool g_counting = false;
bool g_exiting = false;
// In a forked child that has not started a session: PyTorch's list is left as it was inherited.
bool g_asleep = false;

void Remove() {
  if (g_callback != at::INVALID_CALLBACK_HANDLE) at::removeCallback(g_callback);
  g_callback = at::INVALID_CALLBACK_HANDLE;
}

// Registers it at the end of PyTorch's list, or takes it away.
void Renew() {
  if (g_exiting) return;
  try {
    Remove();
    if (!g_counting) return;
    g_callback = at::addGlobalCallback(at::RecordFunctionCallback(&OnAnnotationBegin, &OnAnnotationEnd)
                                           .scopes({at::RecordScope::USER_SCOPE}));
  } catch (...) {  // no memory for PyTorch's list
    WriteStderrLine("PyTorch refused the callback; optimizers' steps are not counted");
  }
}

void OnCounting(bool counting) {
  std::lock_guard<std::mutex> lock(Mutex());
  if (g_asleep && !counting) return;
  g_asleep = false;
  g_counting = counting;
  Renew();
}

// The recording callback came anew, behind this one.
void OnRecording(bool recording) {
  std::lock_guard<std::mutex> lock(Mutex());
  if (recording && g_counting) Renew();
}

}  // namespace

void InstallStepCounter() {
  internal::AddStepObserver(&OnCounting);
  internal::AddSessionObserver(&OnRecording);
}

void RemoveStepCounterForGood() {
  std::lock_guard<std::mutex> lock(Mutex());
  g_counting = false;
  Renew();
  g_exiting = true;
}

void ForgetStepCounterInChild(bool for_good) {
  new (&Mutex()) std::mutex;  // another thread may have held it
  g_counting = false;
  g_asleep = true;
  g_exiting |= for_good;
}

}  // namespace ferret::torch_adapter
