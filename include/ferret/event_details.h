// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventDetails: what most events do not have. Recorded inputs, stack and the like stay in the form in which they were
// written until somebody asks (see internal/detail_format.h); the accessors of FunctionEvent do.

#ifndef FERRET_EVENT_DETAILS_H_
#define FERRET_EVENT_DETAILS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferret {

// A kernel, copy or set that ran on a device for an operator.
struct Kernel {
  std::string_view name;
  int16_t device = 0;  // index
  int64_t duration_ns = 0;

  double duration() const { return static_cast<double>(duration_ns) / 1000.0; }  // µs, as in PyTorch
};

// Kineto's ways to connect two activities.
enum class FlowType : uint8_t { kNone = 0, kForwardBackward = 1, kAsyncCpuGpu = 2 };

// How work of a device was launched: of an event on a device that Ferret timed.
struct DeviceLaunch {
  // The scope that was open, with its thread, while the work was launched.
  int64_t scope_id = 0;
  uint32_t thread = 0;
  int32_t os_tid = 0;
  // From 1, below 2^31, unique in the session among its first 2^31 launches.
  int64_t correlation = 0;
  // Unix ns: just before the marker before the work, and just before the one after it, were put into the stream.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // The event's start may be wrong by this much against times of the CPU, either way; so may its end.
  int64_t clock_error_ns = 0;
  // What a trace shows beside the stream.
  int64_t context = 0;
};

struct EventDetails {
  // Items of internal/detail_format.h. Lives as long as the batch or the list that holds the event.
  std::string_view recorded;
  // Empty: the same as the event's name.
  std::string_view trace_name;

  // Bytes that were allocated less those that were freed while the event was open, on its thread; its own part, and
  // its children's included.
  int64_t cpu_memory_usage = 0;
  int64_t device_memory_usage = 0;
  int64_t self_cpu_memory_usage = 0;
  int64_t self_device_memory_usage = 0;

  int64_t flops = 0;

  // Device work that was launched by the event itself. Filled by EventList.
  std::vector<Kernel> kernels;
  // Of an event on a device that Ferret timed; else null. Lives as long as the batch or the list that holds the event.
  const DeviceLaunch* launch = nullptr;

  // From here on: what only events that were read from a trace file have.
  int64_t external_id = 0;
  int64_t linked_correlation_id = 0;
  int64_t flow_id = 0;
  FlowType flow_type = FlowType::kNone;
  bool flow_start = false;
  int64_t python_id = -1;
  int64_t python_parent_id = -1;
  int64_t python_module_id = -1;
  std::string_view metadata_json;
};

}  // namespace ferret

#endif  // FERRET_EVENT_DETAILS_H_
