// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What every exported function does before its own work, and how it makes itself known to cuGetProcAddress.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_CALL_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_CALL_H_

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <vector>

#include "tests/device/fake_cuda/codes.h"
#include "tests/device/fake_cuda/driver.h"
#include "tests/device/fake_cuda/functions.h"
#include "tests/device/fake_cuda/thread_state.h"

#define FAKE_CUDA_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

// A body's view of its call. A body that must wait or call out unlocks.
struct Call {
  Driver& driver;
  Model& model;
  ThreadState& me;
  std::unique_lock<std::mutex>& lock;
};

enum class Needs { kNothing, kInit };

// Lets the latency pass, counts the call, hangs or fails if it is to, and runs `body(Call)` under the driver's mutex.
template <typename Body>
int Enter(Function function, Needs needs, const Body& body) {
  Driver& driver = Driver::Get();
  ThreadState& me = driver.ThisThread();
  driver.clock.AdvanceNs(driver.latency_ns[function].load(std::memory_order_relaxed));
  std::unique_lock<std::mutex> lock(driver.mutex);
  if (!driver.model().forbidden_threads.empty() && driver.model().forbidden_threads.count(me.tid) != 0) {
    ++driver.model().forbidden_calls;
    driver.model().forbidden_functions.insert(function);
  }
  if (const int code = driver.faults.Enter(function, lock)) return code;
  // Only here: a hang may have lasted over a Reset.
  Model& model = driver.model();
  if (needs == Needs::kInit && model.init_result != kSuccess) {
    return model.init_result < 0 ? kNotInitialized : model.init_result;
  }
  return body(Call{driver, model, me, lock});
}

template <typename Body>
int Enter(Function function, const Body& body) {
  return Enter(function, Needs::kInit, body);
}

// One exported variant of a function: exists since this version of CUDA.
struct Export {
  const char* base_name;
  int version;
  void* legacy;
  void* per_thread;  // nullptr where handle 0 makes no difference
};

// Each file of entry points adds its own while the library loads.
std::vector<Export>& Exports();
bool AddExports(std::initializer_list<Export> exports);

template <typename Type>
void* Address(Type* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_CALL_H_
