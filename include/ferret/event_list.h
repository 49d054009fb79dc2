// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventList: the function events of a run, with their tree and everything that torch.autograd.profiler_util.EventList
// computes from them.
//
//     ferret::EventList list({session.start_ns});
//     for (const ferret::FunctionEvent& event : batch.events) list.Add(event);
//     list.Build();
//     std::cout << list.key_averages().table({"self_cpu_time_total"});
//
// The list owns what it holds: events, names, details; nothing points into the batches they came from. References to
// events stay valid until the list is destroyed or assigned to. 136 bytes an event beside its details. Not to be used
// from two threads at once. The implementation is in runtime/events.

#ifndef FERRET_EVENT_LIST_H_
#define FERRET_EVENT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/event_batch.h"
#include "ferret/function_event.h"
#include "ferret/function_event_avg.h"

namespace ferret {

class FERRET_EXPORT_SYMBOL EventList {
 public:
  struct Config {
    int64_t start_ns = 0;                      // what time ranges are relative to, Unix ns
    DeviceType use_device = DeviceType::kCpu;  // kCpu: PyTorch's None. Else it is given to every event
    bool profile_memory = false;               // memory columns in tables
    bool with_flops = false;                   // FLOPs are computed for each event that has none, and a column of them
    // Which events a memory record belongs to: those open at the time on its own thread, or, as torch.profiler has it,
    // those open on any thread. Then all records count, and what memory events came with does not.
    bool memory_of_all_threads = false;
  };

  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = FunctionEvent;
    using difference_type = std::ptrdiff_t;
    using pointer = FunctionEvent*;
    using reference = FunctionEvent&;

    iterator() = default;
    explicit iterator(FunctionEvent* const* at) : at_(at) {}
    FunctionEvent& operator*() const { return **at_; }
    FunctionEvent* operator->() const { return *at_; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) { return iterator(at_++); }
    bool operator==(const iterator& other) const { return at_ == other.at_; }
    bool operator!=(const iterator& other) const { return at_ != other.at_; }

   private:
    FunctionEvent* const* at_ = nullptr;
  };

  EventList();
  explicit EventList(const Config& config);
  EventList(EventList&& other) noexcept;
  EventList& operator=(EventList&& other) noexcept;
  ~EventList();

  // Appends a copy of the event: its name and details become the list's own, its place in a tree is forgotten.
  FunctionEvent& Add(const FunctionEvent& event);
  // The details of an event of this list, made if it has none. What their views point to must come from Intern.
  EventDetails& DetailsOf(FunctionEvent& event);
  // A copy of the text that lives as long as the list; the same one for equal texts.
  std::string_view Intern(std::string_view text);
  // For the next Build, which adds the bytes to the events. A record that knows its scope (scope_id) comes from a
  // session, where they are in the memory of the scope's event already.
  void AddMemory(const MemoryEvent& record);

  // PyTorch's checks, "" if the call was right. Build does all this from times; it is for who builds a tree by hand.
  //   append_kernel     the event is on the CPU
  //   append_cpu_child  both are on the CPU and synchronous, the child lies inside the parent and has no other parent
  //   set_cpu_parent    the same; append_cpu_child has to be called as well, as in PyTorch
  std::string append_kernel(FunctionEvent& event, std::string_view name, int device_index, double duration_us);
  std::string append_cpu_child(FunctionEvent& parent, FunctionEvent& child);
  std::string set_cpu_parent(FunctionEvent& child, FunctionEvent& parent);

  // Sorts the events by start, outer ones first, links the tree from their times, removes duplicates, gives backward
  // ops the stacks of their forward ops, sums up memory. Sets cpu_parent, the children's rings, parent_id, self_ns.
  // What is asked below is right after it, until the next Add.
  //   Parents: CPU events that are not asynchronous, per (thread, node). An event's parent is the innermost one that
  //     began before it, or at once but ends later or came earlier, and that ends no earlier than the event. An event
  //     that begins where another ends is not inside it; of two that overlap partly neither is the other's parent.
  //   Duplicates: an only child with its parent's name leaves the list; the parent takes over its children and kernels.
  //   Stacks: an event under a backward op gets the stack of the first forward event with the op's sequence number on
  //     the op's forward thread, or none.
  //   Memory: records that belong to no event become events called `[memory]` of no length, as does every
  //     `[OutOfMemory]`.
  void Build();

  size_t size() const { return order_.size(); }
  bool empty() const { return order_.empty(); }
  FunctionEvent& operator[](size_t index) const { return *order_[index]; }
  iterator begin() const { return iterator(order_.data()); }
  iterator end() const { return iterator(order_.data() + order_.size()); }

  const Config& config() const { return config_; }
  int64_t start_ns() const { return config_.start_ns; }

  // Sum of the self times of all events, microseconds.
  double self_cpu_time_total() const;
  // An event's share of the self times of all events, 0 to 100; NaN where their sum is 0. The first call after Build
  // sums them up.
  double self_cpu_percent(const FunctionEvent& event) const;
  double total_cpu_percent(const FunctionEvent& event) const;  // 0 for an asynchronous event
  double total_device_percent(const FunctionEvent& event) const;
  // One row for each key, in the order in which the keys first came.
  EventAverages key_averages(const AverageOptions& options = {}) const;
  // All events in one row called "Total". Times of nested events are in it as often as they are nested.
  FunctionEventAvg total_average() const;
  // The events themselves, one row each. "" if there are none, or on a bad option: then *error says which.
  std::string table(const TableOptions& options = {}, std::string* error = nullptr) const;

  // A JSON array of the events, with arrows from operators to what they launched. "" on success.
  std::string export_chrome_trace(const std::string& path) const;
  // One line for each event that has a stack: root first, frames joined by ";", a space, the metric in whole
  // microseconds. For flame graphs. The metric is self_cpu_time_total or self_{device,cuda,xpu,privateuse1}_time_total.
  std::string export_stacks(const std::string& path, const std::string& metric) const;

 private:
  struct Storage;

  Config config_;
  std::vector<FunctionEvent*> order_;
  std::unique_ptr<Storage> storage_;
};

// The arguments of PyTorch's FunctionEvent constructor, with its defaults.
struct FunctionEventFields {
  int64_t id = 0;
  std::string name;
  uint32_t thread = 0;
  double start_us = 0;  // since the start of the list; kept to the nanosecond
  double end_us = 0;
  std::string overload_name;
  uint32_t fwd_thread = 0;
  // One entry for each argument in each of these; what one of them does not have, another may. An argument with a value
  // in concrete_inputs is that value, one that structured_input_shapes calls a list is a list of tensors, any other one
  // with a shape or the name of a type is a tensor.
  std::vector<std::vector<int64_t>> input_shapes;
  std::vector<FunctionEvent::Dims> structured_input_shapes;
  std::vector<FunctionEvent::Dims> structured_input_strides;
  std::vector<std::string> input_dtypes;
  std::vector<Value> concrete_inputs;
  std::map<std::string, Value> kwinputs;
  std::vector<std::string> stack;
  RecordScope scope = RecordScope::kFunction;
  DeviceType use_device = DeviceType::kCpu;
  int64_t cpu_memory_usage = 0;
  int64_t device_memory_usage = 0;
  bool is_async = false;
  bool is_remote = false;
  int64_t sequence_nr = -1;
  int64_t node_id = -1;
  DeviceType device_type = DeviceType::kCpu;
  int16_t device_index = 0;
  int64_t device_resource_id = -1;  // -1: the thread
  bool is_legacy = false;
  int64_t flops = 0;
  std::string trace_name;  // "": the name
  bool is_user_annotation = false;
  bool is_python_function = false;
  ActivityType activity_type = ActivityType::kNone;
  std::string metadata_json;
  int64_t flow_id = 0;
  FlowType flow_type = FlowType::kNone;
  bool flow_start = false;
  int64_t external_id = 0;
  int64_t linked_correlation_id = 0;
  std::map<std::string, std::string> extra_meta;
  std::map<std::string, Value> typed_metadata;
  std::string module_hierarchy;
  int64_t python_id = -1;
  int64_t python_parent_id = -1;
  int64_t python_module_id = -1;
};

// Adds an event made from the fields to the list.
FERRET_EXPORT_SYMBOL FunctionEvent& MakeFunctionEvent(EventList& list, const FunctionEventFields& fields);

}  // namespace ferret

#endif  // FERRET_EVENT_LIST_H_
