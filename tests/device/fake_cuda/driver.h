// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole fake driver: one for the process, behind one mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_DRIVER_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_DRIVER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tests/device/fake_cuda/captures.h"
#include "tests/device/fake_cuda/clock.h"
#include "tests/device/fake_cuda/contexts.h"
#include "tests/device/fake_cuda/devices.h"
#include "tests/device/fake_cuda/events.h"
#include "tests/device/fake_cuda/faults.h"
#include "tests/device/fake_cuda/functions.h"
#include "tests/device/fake_cuda/memory.h"
#include "tests/device/fake_cuda/streams.h"
#include "tests/device/fake_cuda/thread_state.h"

namespace fake_cuda {

// What Reset replaces. Handles start where those of the model before ended, so that none of those is taken for a new
// one.
struct Model {
  Model(size_t first_context, size_t first_stream, size_t first_event, int64_t now_ns);

  Contexts contexts;
  Streams streams;
  Captures captures;
  Events events;
  Memory memory;
  Modules modules;
  std::deque<Device> devices;
  int init_result = -1;  // of cuInit; -1: not called
  int driver_version = 13000;
  int64_t front_end_ns = 0;
  uint64_t stream_double_destroys = 0;
  std::set<int> unavailable;  // functions
  std::set<int> forbidden_threads;
  uint64_t forbidden_calls = 0;
  std::set<int> forbidden_functions;
};

class Driver {
 public:
  // Never destroyed: threads may be in it until the process ends.
  static Driver& Get();

  void Reset();  // takes the mutex
  ThreadState& ThisThread();

  // ---- All below with the mutex held -----------------------------------------------------------------------------
  Model& model() { return *model_; }

  // The context that is current to the thread, as an index, or an error.
  int CurrentContext(const ThreadState& me, size_t* context);
  // The stream that a handle means. `zero_is`: what handle 0 means. Destroyed streams are streams.
  int ResolveStream(const ThreadState& me, void* handle, std::uintptr_t zero_is, size_t* stream);

  int RetainPrimary(int device, void** context);
  int ReleasePrimary(int device, bool all);
  // The primary context's index if it is active, else kNone.
  size_t ActivePrimary(int device);
  int DestroyContext(void* handle);
  int DestroyStream(void* handle);

  // Gives `ns` of work to a stream; *end_ns, if asked for, is when it will be done. Work that a capture takes succeeds
  // and ends now.
  int Work(size_t stream, int64_t ns, int64_t* end_ns);

  std::mutex mutex;
  Clock clock;
  Faults faults;
  // Needs no mutex: relaxed, since a test sets it before the calls that it is about.
  std::array<std::atomic<int64_t>, kFunctionCount> latency_ns{};

 private:
  Driver();
  void EndContext(size_t context);

  std::atomic<uint64_t> generation_{1};
  std::unique_ptr<Model> model_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_DRIVER_H_
