// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FunctionEvent: one finished scope, as torch.autograd.profiler_util.FunctionEvent describes it.
//
// The drain builds these by the million per second, so scalars are inline and text is a view. Times are integer
// nanoseconds of Unix time on the session's own clock: monotonic, tied to the wall clock once, at session start.
// Field names and meanings are those of PyTorch's documentation; what PyTorch gives in microseconds relative to the
// start of the trace is computed from the nanoseconds (see time_range()).

#ifndef FERRET_FUNCTION_EVENT_H_
#define FERRET_FUNCTION_EVENT_H_

#include <cstdint>
#include <string_view>

namespace ferret {

// at::RecordScope, same numbers.
enum class RecordScope : uint8_t {
  kFunction = 0,
  kBackwardFunction = 1,
  kTorchScriptFunction = 2,
  kKernelFunctionDtype = 3,
  kCustomClass = 4,
  kBuildFeature = 5,
  kLiteInterpreter = 6,
  kUserScope = 7,
  kStaticRuntimeOp = 8,
  kStaticRuntimeModel = 9,
};

// c10::DeviceType, same numbers, for the devices that events can be on.
enum class DeviceType : int8_t { kCpu = 0, kCuda = 1, kXpu = 12, kHpu = 18, kMtia = 21, kPrivateUse1 = 20 };

// Microseconds since the start of the session, with the nanoseconds as fraction.
struct Interval {
  double start = 0;
  double end = 0;
  double elapsed_us() const { return end - start; }
};

struct FunctionEvent {
  // Unique in the session, from 1, in the order in which the drain met the begins. 0 means none.
  int64_t id = 0;
  // The innermost scope of the same thread that was open when this one began; 0 for a root and for an async event.
  int64_t parent_id = 0;
  // Lives as long as the batch that holds the event; a name with name_id != 0 lives as long as the process.
  std::string_view name;
  // Unix nanoseconds. end_ns >= start_ns, and both lie inside the parent's.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // end - start less the same of the direct children; 0 for an async event.
  int64_t self_ns = 0;
  // The autograd sequence number, -1 for none. A forward op and its backward op share (forward thread, number).
  int64_t sequence_nr = -1;
  // For a backward op: the id of the forward op it belongs to, 0 if there is none or it was not recorded.
  int64_t forward_id = 0;
  // Logical id of the recording thread, from 1, never reused; the framework's id while an adapter is loaded.
  uint32_t thread = 0;
  // Logical id of the thread that ran the forward op; > 0 exactly for backward ops.
  uint32_t fwd_thread = 0;
  // OS thread id for CPU events (gettid), stream for device events.
  int32_t device_resource_id = 0;
  // Index of the name in the process's name table, 0 if the name is not there. Equal ids are equal names.
  uint32_t name_id = 0;
  RecordScope scope = RecordScope::kFunction;
  DeviceType device_type = DeviceType::kCpu;
  int16_t device_index = 0;
  // Began and ended on different threads, or was declared asynchronous. No children, no parent, no self time.
  bool is_async : 1;
  bool is_user_annotation : 1;
  // Still open when its thread or the session ended: end_ns is that moment.
  bool is_truncated : 1;
  // Made by the drain from other events (steps seen at the optimizer), not recorded by the program.
  bool is_synthesized : 1;

  FunctionEvent() : is_async(false), is_user_annotation(false), is_truncated(false), is_synthesized(false) {}

  bool is_backward() const { return fwd_thread > 0; }
  int64_t duration_ns() const { return end_ns - start_ns; }
  // session_start_ns is SessionInfo::start_ns.
  Interval time_range(int64_t session_start_ns) const {
    return {static_cast<double>(start_ns - session_start_ns) / 1000.0,
            static_cast<double>(end_ns - session_start_ns) / 1000.0};
  }
};

}  // namespace ferret

#endif  // FERRET_FUNCTION_EVENT_H_
