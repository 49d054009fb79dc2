// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_torch.so: records what PyTorch runs. Loading it is all there is to do, by a preload, by linking or by
// torch.ops.load_library. While a session records, one global RecordFunction callback is registered with PyTorch; while
// none is, PyTorch knows nothing of Ferret. In the pauses of a schedule there is only the step counter's.
//
// Never unloaded (-z nodelete): operators that are running when a session stops still call OnEnd.

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "adapters/torch/callbacks.h"
#include "adapters/torch/cuda_stream.h"
#include "adapters/torch/details.h"
#include "adapters/torch/memory.h"
#include "adapters/torch/stacks.h"
#include "adapters/torch/step_counter.h"
#include "adapters/torch/torch_api.h"
#include "ferret/internal/adapter.h"
#include "ferret/internal/hot_path.h"
#include "runtime/threads/stderr_line.h"

namespace ferret::torch_adapter {
namespace {

// Guards what follows. Leaked: a session may stop after static objects are gone.
std::mutex& Mutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}
at::CallbackHandle g_callback = at::INVALID_CALLBACK_HANDLE;
uint32_t g_callback_wants = 0;  // what it was registered for
bool g_exiting = false;
bool g_scheduled = false;
// In a forked child that has not started a session: PyTorch's list is left as it was inherited, the callback with it. Its
// lock may be one that another thread held, which is not there.
bool g_asleep = false;

// Whether there is nothing to do about a change of that kind.
bool IsSilent(bool goes_on) {
  if (g_exiting || (g_asleep && !goes_on)) return true;
  g_asleep = false;
  return false;
}

void SetCallback(bool registered) {
  try {
    const uint32_t wants = internal::g_switch.wants.load(std::memory_order_relaxed);
    // A forked child has inherited its parent's, which may be one for other details.
    if (g_callback != at::INVALID_CALLBACK_HANDLE && (!registered || wants != g_callback_wants)) {
      at::removeCallback(g_callback);
      g_callback = at::INVALID_CALLBACK_HANDLE;
    }
    if (registered && g_callback == at::INVALID_CALLBACK_HANDLE) {
      // Inputs only if they are wanted, outputs and ids never: PyTorch then need not even collect them.
      const bool marks = NeedsMarks(wants) && HasCudaStreams();
      at::RecordFunctionCallback callback(
          marks ? &OnBeginWithMarks : NeedsDetails(wants) ? &OnBeginWithDetails : &OnBegin,
          marks ? &OnEndWithMarks : &OnEnd);
      g_callback = at::addGlobalCallback(callback.needsInputs(NeedsInputs(wants)));
      g_callback_wants = wants;
    }
  } catch (...) {  // no memory for PyTorch's list
    WriteStderrLine("PyTorch refused the callback; its operators are not recorded");
  }
}

// Makes ready what the session asks for and says, once for each reason, what cannot be had.
void Prepare(uint32_t wants) {
  static bool told_of_stacks = false;
  static bool told_of_memory = false;
  static bool told_of_cuda = false;
  const auto tell = [](bool& told, const char* what, const std::string& reason) {
    if (reason.empty() || told) return;
    told = true;
    WriteStderrLine(what + (": " + reason));
  };
  if ((wants & internal::kWantStacks) != 0) tell(told_of_stacks, "call stacks are not recorded", PrepareStacks());
  if ((wants & internal::kWantMemory) != 0) {
    tell(told_of_memory, "PyTorch's allocations are not recorded", ObserveMemory());
  }
  if (NeedsMarks(wants)) {
    const bool ops = (wants & internal::kWantCudaOps) != 0;
    const std::string reason = FindCudaStreams();
    const char* const what = ops ? "; its operators are not timed" : "; its annotations are not timed";
    tell(told_of_cuda, ops ? "FERRET_CUDA=ops" : "FERRET_CUDA=annotations", reason.empty() ? "" : reason + what);
  }
}

// Takes Python's lock, so only on the thread that starts the session (or loads this library in one): the windows of a
// schedule begin on threads that may have others wait for them.
void PrepareSession() { Prepare(internal::g_switch.wants.load(std::memory_order_relaxed)); }

void OnSession(bool recording) {
  std::lock_guard<std::mutex> lock(Mutex());
  if (IsSilent(recording)) return;
  if (recording && !g_scheduled) PrepareSession();
  SetCallback(recording);
}

// Comes before any window of the schedule.
void OnSchedule(bool on) {
  std::lock_guard<std::mutex> lock(Mutex());
  if (IsSilent(on)) return;
  g_scheduled = on;
  if (on) PrepareSession();
}

// Not waited for: whoever holds it may be waiting for Python's lock, which the thread that forks may have.
// Each thread's own: since glibc 2.36 several may be in these handlers at once.
thread_local bool t_held_by_fork = false;
void BeforeFork() { t_held_by_fork = Mutex().try_lock(); }
void AfterForkInParent() {
  if (t_held_by_fork) Mutex().unlock();
}

// A callback that another thread was about to register, or to remove, may be there or not: such a child is left alone.
void AfterForkInChild() {
  g_exiting |= !t_held_by_fork;
  g_asleep = true;
  g_scheduled = false;
  new (&Mutex()) std::mutex;
  ForgetStepCounterInChild(!t_held_by_fork);
}

// PyTorch's list of callbacks is about to be destroyed, and threads that still run go on reading it: an empty list does
// them no harm, what was in it would. The session stops later, and leaves the list alone.
void OnExit() {
  std::lock_guard<std::mutex> lock(Mutex());
  if (g_exiting || g_asleep) return;
  g_exiting = true;
  SetCallback(false);
  RemoveStepCounterForGood();
}

// Whether a copy of this library under another path is in the process: both would record every operator.
bool IsSecondCopy() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&OnSession), &self) == 0) return false;
  return dl_iterate_phdr(
             [](dl_phdr_info* object, size_t, void* base) {
               const std::string_view path(object->dlpi_name);
               const bool same_name = path.substr(path.rfind('/') + 1) == "libferret_torch.so";
               return same_name && reinterpret_cast<void*>(object->dlpi_addr) != base ? 1 : 0;
             },
             self.dli_fbase) != 0;
}

__attribute__((constructor)) void Load() {
  const std::string refusal = CheckTorchVersion(kBuiltForTorch, RunningTorch());
  if (!refusal.empty()) {
    WriteStderrLine(refusal);
    return;
  }
  if (IsSecondCopy()) {
    WriteStderrLine("libferret_torch.so is loaded twice; the second copy records nothing");
    return;
  }
  // Makes PyTorch construct its list, so that the handler below is registered later and hence runs earlier.
  at::hasGlobalCallbacks();
  std::atexit(&OnExit);
  internal::SetThreadIdProvider(&at::RecordFunction::currentThreadId);
  pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  internal::AddStepObserver(&OnSchedule);
  internal::AddSessionObserver(&OnSession);
  InstallStepCounter();
}

}  // namespace
}  // namespace ferret::torch_adapter
