// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FunctionEvent: one finished scope, as torch.autograd.profiler_util.FunctionEvent describes it.
//
// The drain builds these by the million per second, so scalars are inline and text is a view. Times are integer
// nanoseconds of Unix time on the session's own clock: monotonic, tied to the wall clock once, at session start.
// Names and meanings are those of PyTorch's documentation; function_event.md lists them all. What is cheap is a field;
// what PyTorch computes, or what few events have, is a function of the same name: times in microseconds, inputs,
// stacks, memory, kernels. Those that are not defined here are in runtime/events (link //runtime/events, or libferret.so).
//
// In a batch the tree is not linked: cpu_parent is null and has no children, and parent_id stands for it. EventList
// (event_list.h) links it.

#ifndef FERRET_FUNCTION_EVENT_H_
#define FERRET_FUNCTION_EVENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/event_details.h"
#include "ferret/internal/export_symbol.h"
#include "ferret/record_scope.h"
#include "ferret/value.h"

namespace ferret {

// Kineto's categories, same numbers; kNone for events that no trace names one for.
enum class ActivityType : uint8_t {
  kCpuOp = 0,
  kUserAnnotation = 1,
  kGpuUserAnnotation = 2,
  kGpuMemcpy = 3,
  kGpuMemset = 4,
  kKernel = 5,
  kCudaRuntime = 7,
  kCudaDriver = 8,
  kCpuInstantEvent = 9,
  kPythonFunction = 10,
  kOverhead = 11,
  kCudaSync = 15,
  kCudaEvent = 16,
  kOther = 254,
  kNone = 255,
};

// Microseconds since the start of the session, with the nanoseconds as fraction.
struct Interval {
  double start = 0;
  double end = 0;
  double elapsed_us() const { return end - start; }
};

struct FERRET_EXPORT_SYMBOL FunctionEvent {
  // Unique in the session, from 1, in the order in which the drain met the begins. 0 means none.
  int64_t id = 0;
  // The innermost scope of the same thread that was open when this one began; 0 for a root and for an async event.
  int64_t parent_id = 0;
  // Lives as long as the batch that holds the event; a name with name_id != 0 lives as long as the process. Steps are
  // all called `ProfilerStep*`, so that they aggregate; their number is in trace_name().
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
  // Device time is that of one pair of device events around the operator and its children.
  bool is_legacy : 1;
  bool is_python_function : 1;
  ActivityType activity_type = ActivityType::kNone;
  // Whose time device_time_total() is; kCpu stands for PyTorch's None. The same for all events of a run.
  DeviceType use_device = DeviceType::kCpu;
  // Null for most events. Owned by the batch or the list that holds the event.
  EventDetails* details = nullptr;

  // The tree, of an EventList.
  FunctionEvent* cpu_parent = nullptr;
  FunctionEvent* last_child = nullptr;    // whose next_sibling is the first one
  FunctionEvent* next_sibling = nullptr;  // a ring

  constexpr FunctionEvent()
      : is_async(false), is_user_annotation(false), is_truncated(false), is_synthesized(false), is_legacy(false),
        is_python_function(false) {}

  // Always 1; only averages hold more.
  static constexpr int64_t count() { return 1; }
  std::string_view key() const { return name; }
  // The name with the number of a step: what a trace shows.
  std::string_view trace_name() const {
    return details == nullptr || details->trace_name.empty() ? name : details->trace_name;
  }
  bool is_backward() const { return fwd_thread > 0; }
  int64_t duration_ns() const { return end_ns - start_ns; }
  // session_start_ns is SessionInfo::start_ns, EventList::start_ns().
  Interval time_range(int64_t session_start_ns) const {
    return {static_cast<double>(start_ns - session_start_ns) / 1000.0,
            static_cast<double>(end_ns - session_start_ns) / 1000.0};
  }

  // Microseconds, with the nanoseconds as fraction. Of an event on a device the CPU times are 0.
  double cpu_time_total() const { return static_cast<double>(cpu_time_total_ns()) / 1000.0; }
  double self_cpu_time_total() const { return static_cast<double>(self_cpu_time_total_ns()) / 1000.0; }
  double device_time_total() const { return static_cast<double>(device_time_total_ns()) / 1000.0; }
  double self_device_time_total() const { return static_cast<double>(self_device_time_total_ns()) / 1000.0; }
  double cpu_time() const { return cpu_time_total(); }
  double device_time() const { return device_time_total(); }
  // The same in nanoseconds. Device times visit the whole subtree.
  int64_t cpu_time_total_ns() const { return device_type == DeviceType::kCpu ? duration_ns() : 0; }
  int64_t self_cpu_time_total_ns() const { return device_type == DeviceType::kCpu && !is_async ? self_ns : 0; }
  int64_t device_time_total_ns() const;
  int64_t self_device_time_total_ns() const;

  // Bytes, see EventDetails.
  int64_t cpu_memory_usage() const { return details == nullptr ? 0 : details->cpu_memory_usage; }
  int64_t device_memory_usage() const { return details == nullptr ? 0 : details->device_memory_usage; }
  int64_t self_cpu_memory_usage() const { return details == nullptr ? 0 : details->self_cpu_memory_usage; }
  int64_t self_device_memory_usage() const { return details == nullptr ? 0 : details->self_device_memory_usage; }
  int64_t flops() const { return details == nullptr ? 0 : details->flops; }

  // "12.345us", "1.500ms", "2.000s"
  std::string cpu_time_str() const;
  std::string device_time_str() const;
  std::string cpu_time_total_str() const;
  std::string device_time_total_str() const;
  std::string self_cpu_time_total_str() const;
  std::string self_device_time_total_str() const;

  // What only events that were read from a trace file have.
  int64_t external_id() const { return details == nullptr ? 0 : details->external_id; }
  int64_t linked_correlation_id() const { return details == nullptr ? 0 : details->linked_correlation_id; }
  int64_t flow_id() const { return details == nullptr ? 0 : details->flow_id; }
  FlowType flow_type() const { return details == nullptr ? FlowType::kNone : details->flow_type; }
  bool flow_start() const { return details != nullptr && details->flow_start; }
  int64_t python_id() const { return details == nullptr ? -1 : details->python_id; }
  int64_t python_parent_id() const { return details == nullptr ? -1 : details->python_parent_id; }
  int64_t python_module_id() const { return details == nullptr ? -1 : details->python_module_id; }
  std::string_view metadata_json() const { return details == nullptr ? std::string_view() : details->metadata_json; }

  // The operator's arguments as they were recorded; empty without record_shapes. Then the views of them that PyTorch
  // gives: one entry for each argument.
  std::vector<Value> inputs() const;
  std::vector<std::vector<int64_t>> input_shapes() const;  // of a tensor; [] for a list of tensors and anything else
  // A list of tensors is a list of lists; of a tensor the outer list has one element. See is_list.
  struct Dims {
    bool is_list = false;
    std::vector<std::vector<int64_t>> dims;
    bool operator==(const Dims& other) const { return is_list == other.is_list && dims == other.dims; }
  };
  std::vector<Dims> structured_input_shapes() const;
  std::vector<Dims> structured_input_strides() const;
  std::vector<std::string> input_dtypes() const;  // "float", "TensorList", "Scalar", "ScalarList" or ""
  std::vector<Value> concrete_inputs() const;     // scalars and lists of them; None for tensors
  std::map<std::string, Value> kwinputs() const;
  std::string overload_name() const;
  std::vector<std::string> stack() const;  // innermost first
  std::string module_hierarchy() const;
  int64_t node_id() const;  // -1 for none
  bool is_remote() const;
  std::map<std::string, std::string> extra_meta() const;
  // Everything that a trace shows as args, under the names it has there.
  std::map<std::string, Value> metadata() const;
  // Of a kernel, a copy or a collective: what PyTorch's EventMetadata has, under its names and with its types ("grid",
  // "process_group_name"); what is not known is not there.
  std::map<std::string, Value> event_metadata() const;

  const std::vector<Kernel>& kernels() const;
  std::vector<const FunctionEvent*> cpu_children() const;

  // One line, for people.
  std::string ToString() const;
};
static_assert(sizeof(FunctionEvent) == 128, "two cache lines");

}  // namespace ferret

#endif  // FERRET_FUNCTION_EVENT_H_
