// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_torch.so: records what PyTorch runs. Loading it is all there is to do, by a preload, by linking or by
// torch.ops.load_library. While a session is on, one global RecordFunction callback is registered with PyTorch; while
// none is, PyTorch knows nothing of Ferret.
//
// Never unloaded (-z nodelete): operators that are running when a session stops still call OnEnd.

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "adapters/torch/callbacks.h"
#include "adapters/torch/torch_api.h"
#include "ferret/internal/adapter.h"

namespace ferret::torch_adapter {
namespace {

at::CallbackHandle g_callback = at::INVALID_CALLBACK_HANDLE;  // under the session lock

// Set at exit, before PyTorch's list of callbacks is destroyed. From then on the list is left alone, with the callback
// in it: threads that still run go on being recorded until the session stops, and then find recording off.
std::atomic<bool> g_exiting{false};

void OnSession(bool recording) {
  if (g_exiting.load(std::memory_order_acquire)) return;
  try {
    if (recording && g_callback == at::INVALID_CALLBACK_HANDLE) {
      // Inputs, outputs and ids are not asked for (the default): PyTorch then need not even collect them.
      g_callback = at::addGlobalCallback(at::RecordFunctionCallback(&OnBegin, &OnEnd));
    } else if (!recording && g_callback != at::INVALID_CALLBACK_HANDLE) {
      at::removeCallback(g_callback);
      g_callback = at::INVALID_CALLBACK_HANDLE;
    }
  } catch (...) {  // no memory for PyTorch's list
    std::fputs("ferret: PyTorch refused the callback; its operators are not recorded\n", stderr);
  }
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
    std::fprintf(stderr, "ferret: %s\n", refusal.c_str());
    return;
  }
  if (IsSecondCopy()) {
    std::fputs("ferret: libferret_torch.so is loaded twice; the second copy records nothing\n", stderr);
    return;
  }
  // Makes PyTorch construct its list, so that the handler below is registered later and hence runs earlier.
  at::hasGlobalCallbacks();
  std::atexit([] { g_exiting.store(true, std::memory_order_release); });
  internal::SetThreadIdProvider(&at::RecordFunction::currentThreadId);
  internal::AddSessionObserver(&OnSession);
}

}  // namespace
}  // namespace ferret::torch_adapter
