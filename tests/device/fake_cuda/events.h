// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The events, and what a program does wrong with them. Callers hold the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_EVENTS_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "tests/device/fake_cuda/codes.h"
#include "tests/device/fake_cuda/contexts.h"
#include "tests/device/fake_cuda/gpu_clock.h"
#include "tests/device/fake_cuda/handles.h"

namespace fake_cuda {

struct Event {
  // kGone: with its context, by nobody's call.
  enum Life : uint8_t { kAlive, kDestroyed, kGone };
  static constexpr int64_t kNever = INT64_MAX;

  size_t context;
  unsigned flags;
  Life life = kAlive;
  bool recorded = false;
  bool captured = false;  // last recorded into a capture
  bool read = false;      // an elapsed time was asked of the last record
  int64_t stamp_ns = 0;   // the CPU's time; kNever on a destroyed stream
  const GpuClock* clock = nullptr;

  bool Ready(int64_t now_ns) const { return !recorded || stamp_ns <= now_ns; }
};

class Events {
 public:
  Events(size_t first_handle, Contexts& contexts) : handles_(7, first_handle), contexts_(contexts) {}

  void* Create(size_t context, unsigned flags, int tid);
  int Destroy(void* handle);
  // The context is going.
  void ForgetAllOf(size_t context);

  // The event, if it can be used; else *error says why not. A use of a destroyed one is counted.
  Event* Use(void* handle, int* error);
  // Whatever its state; nullptr if it is no handle of an event.
  const Event* Find(void* handle) const;

  void Record(Event& event, int64_t stamp_ns, const GpuClock* clock);
  void RecordIntoCapture(Event& event);

  size_t NextHandle() const { return handles_.EndOf(events_.size()); }

  uint64_t created = 0;
  uint64_t destroyed = 0;
  uint64_t alive = 0;
  uint64_t alive_max = 0;
  uint64_t records = 0;
  uint64_t records_into_captures = 0;
  uint64_t double_destroys = 0;
  uint64_t uses_after_destroy = 0;
  uint64_t records_on_destroyed_streams = 0;
  uint64_t rerecords_of_unread = 0;
  uint64_t elapsed_on_pending = 0;
  std::map<int, uint64_t> created_by;

 private:
  HandleSpace handles_;
  Contexts& contexts_;
  std::deque<Event> events_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_EVENTS_H_
