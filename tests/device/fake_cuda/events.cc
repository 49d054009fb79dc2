// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Lives of events.
#include "tests/device/fake_cuda/events.h"

#include <algorithm>

namespace fake_cuda {

void* Events::Create(size_t context, unsigned flags, int tid) {
  events_.push_back(Event{context, flags});
  ++created;
  ++created_by[tid];
  alive_max = std::max(alive_max, ++alive);
  return handles_.At(events_.size() - 1);
}

const Event* Events::Find(void* handle) const {
  const size_t index = handles_.IndexOf(handle, events_.size());
  return index == HandleSpace::kNone ? nullptr : &events_[index];
}

Event* Events::Use(void* handle, int* error) {
  const size_t index = handles_.IndexOf(handle, events_.size());
  if (index == HandleSpace::kNone) {
    *error = kInvalidHandle;
    return nullptr;
  }
  Event& event = events_[index];
  if (event.life == Event::kDestroyed) {
    ++uses_after_destroy;
    *error = kInvalidHandle;
    return nullptr;
  }
  *error = contexts_.At(event.context).Error();
  return *error == kSuccess ? &event : nullptr;
}

int Events::Destroy(void* handle) {
  const size_t index = handles_.IndexOf(handle, events_.size());
  if (index == HandleSpace::kNone) return kInvalidHandle;
  Event& event = events_[index];
  if (event.life == Event::kDestroyed) {
    ++double_destroys;
    return kInvalidHandle;
  }
  if (const int error = contexts_.At(event.context).Error()) return error;
  event.life = Event::kDestroyed;
  ++destroyed;
  --alive;
  return kSuccess;
}

void Events::ForgetAllOf(size_t context) {
  for (Event& event : events_) {
    if (event.context != context || event.life != Event::kAlive) continue;
    event.life = Event::kGone;
    --alive;
  }
}

void Events::Record(Event& event, int64_t stamp_ns, const GpuClock* clock) {
  if (event.recorded && !event.read) ++rerecords_of_unread;
  ++records;
  event.recorded = true;
  event.captured = false;
  event.read = false;
  event.stamp_ns = stamp_ns;
  event.clock = clock;
}

void Events::RecordIntoCapture(Event& event) {
  if (event.recorded && !event.read) ++rerecords_of_unread;
  ++records_into_captures;
  event.recorded = false;
  event.captured = true;
}

}  // namespace fake_cuda
