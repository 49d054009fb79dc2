// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a trace while it is read: its events without what can only be known at its end, such as which
// operator launched which kernel.

#ifndef FERRET_RUNTIME_TRACE_READER_RAW_TRACE_H_
#define FERRET_RUNTIME_TRACE_READER_RAW_TRACE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ferret/event_list.h"
#include "ferret/function_event.h"

namespace ferret {

// A row of the trace: its (pid, tid). Most rows are threads, some are streams.
using RowIndex = uint32_t;

struct RawEvent {
  // Its times are relative to the trace's base, its id is 0, its threads are what the trace says: fwd_thread is the
  // writer's number of a thread, thread is 0. The name is one of RawTrace::names.
  FunctionEvent event;
  std::string_view trace_name;  // empty: the name
  std::string details;
  RowIndex row = 0;
  int64_t external_id = 0;   // as written, 0 if not
  int64_t correlation = 0;   // of a launch and of what was launched, 0 for none
  int64_t python_id = -1;
  int64_t python_parent_id = -1;
  int64_t python_module_id = -1;

  bool is_op() const { return event.activity_type == ActivityType::kCpuOp; }
  bool is_launch() const {
    return event.activity_type == ActivityType::kCudaRuntime || event.activity_type == ActivityType::kCudaDriver;
  }
  bool is_on_device() const { return event.device_type != DeviceType::kCpu; }
  // Something that a device did, rather than a span that was drawn around it.
  bool is_device_work() const {
    return is_on_device() && event.activity_type != ActivityType::kGpuUserAnnotation;
  }
  // The time between two marks around all that an operator and its children launched.
  bool is_marked_span() const { return is_on_device() && !is_device_work() && event.is_legacy; }
};

struct RawMemory {
  MemoryEvent record;  // its time is relative to the base, its thread is 0
  RowIndex row = 0;
};

struct RawTrace {
  // A deque, so that it can be given up piece by piece while an EventList is made of it.
  std::deque<RawEvent> events;
  std::vector<RawMemory> memory;
  std::unordered_set<std::string> names;
  RowIndex rows = 0;  // how many there are; rows of CPU events have small numbers like all others

  int64_t base_ns = 0;
  bool profile_memory = false;
  bool with_flops = false;
  bool is_ferrets = false;  // written by Ferret
  bool has_span = false;    // of the whole trace:
  int64_t span_start_ns = 0;

  uint64_t unread = 0;      // begins and ends of slices (ph B and E), which neither Kineto nor Ferret writes
  uint64_t incomplete = 0;  // slices without a time or a duration, or with a negative one; halves of asynchronous pairs
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_RAW_TRACE_H_
