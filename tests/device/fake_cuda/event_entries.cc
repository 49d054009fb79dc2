// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: events, but for elapsed times, which one variant of the library lacks.
#include <cstddef>
#include <cstdint>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

// A call about one event: `body(call, event)`.
template <typename Body>
int OfEvent(Function function, void* handle, const Body& body) {
  return Enter(function, [&](const Call& call) -> int {
    int error;
    Event* const event = call.model.events.Use(handle, &error);
    return event == nullptr ? error : body(call, *event);
  });
}

// Makes the stamp, in the stream's time.
int Stamp(const Call& call, Event& event, size_t index) {
  const Stream& stream = call.model.streams.At(index);
  const int device = call.model.contexts.At(stream.context).device;
  const GpuClock* const clock = &call.model.devices[static_cast<size_t>(device)].clocks.back();
  if (!stream.alive) {
    // Undefined in CUDA. Users have seen events that are never ready, and no error.
    ++call.model.events.records_on_destroyed_streams;
    call.model.events.Record(event, Event::kNever, clock);
    return kSuccess;
  }
  int64_t end_ns;
  if (const int error = call.driver.Work(index, call.model.front_end_ns, &end_ns)) return error;
  if (stream.capture.status == kCaptureActive) {
    call.model.events.RecordIntoCapture(event);
  } else {
    call.model.events.Record(event, end_ns, clock);
  }
  return kSuccess;
}

int Record(Function function, void* handle, void* stream_handle, unsigned flags, std::uintptr_t zero_is) {
  return OfEvent(function, handle, [&](const Call& call, Event& event) -> int {
    if (flags > kEventRecordExternal) return kInvalidValue;
    size_t stream;
    if (const int error = call.driver.ResolveStream(call.me, stream_handle, zero_is, &stream)) return error;
    if (event.context != call.model.streams.At(stream).context) return kInvalidHandle;
    if (flags != kEventRecordExternal) return Stamp(call, event, stream);
    // A node that records when the graph runs; graphs do not run here.
    return call.model.captures.CheckWork(stream) == Captures::kNodeOfGraph ? kSuccess : kInvalidValue;
  });
}

int CheckWait(const Call& call, const Event& event) {
  if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
  return event.captured ? kCapturedEvent : kSuccess;
}

}  // namespace

FAKE_CUDA_API int cuEventCreate(void** event, unsigned flags) {
  return Enter(kEventCreate, [&](const Call& call) -> int {
    if (event == nullptr || flags > 7) return kInvalidValue;
    if ((flags & kEventInterprocess) != 0 && (flags & kEventDisableTiming) == 0) return kInvalidValue;
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    *event = call.model.events.Create(context, flags, call.me.tid);
    return kSuccess;
  });
}

FAKE_CUDA_API int cuEventDestroy_v2(void* event) {
  return Enter(kEventDestroy, [&](const Call& call) { return call.model.events.Destroy(event); });
}

FAKE_CUDA_API int cuEventRecord(void* event, void* stream) {
  return Record(kEventRecord, event, stream, 0, kLegacyStream);
}
FAKE_CUDA_API int cuEventRecord_ptsz(void* event, void* stream) {
  return Record(kEventRecord, event, stream, 0, kPerThreadStream);
}
FAKE_CUDA_API int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  return Record(kEventRecordWithFlags, event, stream, flags, kLegacyStream);
}
FAKE_CUDA_API int cuEventRecordWithFlags_ptsz(void* event, void* stream, unsigned flags) {
  return Record(kEventRecordWithFlags, event, stream, flags, kPerThreadStream);
}

FAKE_CUDA_API int cuEventQuery(void* event) {
  return OfEvent(kEventQuery, event, [](const Call& call, const Event& asked) -> int {
    if (const int error = CheckWait(call, asked)) return error;
    return asked.Ready(call.driver.clock.NowNs()) ? kSuccess : kNotReady;
  });
}

FAKE_CUDA_API int cuEventSynchronize(void* event) {
  return OfEvent(kEventSynchronize, event, [](const Call& call, const Event& awaited) -> int {
    if (const int error = CheckWait(call, awaited)) return error;
    const int64_t stamp_ns = awaited.recorded ? awaited.stamp_ns : 0;
    // A hang for ever, in CUDA; a test is better served by an answer.
    if (stamp_ns == Event::kNever) return kInvalidHandle;
    call.lock.unlock();
    call.driver.clock.WaitUntilNs(stamp_ns);
    return kSuccess;
  });
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuEventCreate", 2000, Address(&cuEventCreate), nullptr},
    {"cuEventDestroy", 4000, Address(&cuEventDestroy_v2), nullptr},
    {"cuEventRecord", 2000, Address(&cuEventRecord), Address(&cuEventRecord_ptsz)},
    {"cuEventRecordWithFlags", 11010, Address(&cuEventRecordWithFlags), Address(&cuEventRecordWithFlags_ptsz)},
    {"cuEventQuery", 2000, Address(&cuEventQuery), nullptr},
    {"cuEventSynchronize", 2000, Address(&cuEventSynchronize), nullptr},
});
