// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventBatch: what the drain hands to exporters, many function events at a time.
//
// A batch is immutable once handed over and shared by all exporters. Events stand in the order in which they were
// finished building: per thread by end time, except that a backward op may come later than its neighbours (it waits
// until its forward op is known). Nothing in a batch points outside of it but names with a name_id, which live as long
// as the process. So an event, an instant or a memory event that is kept longer than its batch needs its name and its
// details copied.

#ifndef FERRET_EVENT_BATCH_H_
#define FERRET_EVENT_BATCH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ferret/function_event.h"
#include "ferret/loss.h"
#include "ferret/text_arena.h"

namespace ferret {

// A moment with a name (kInstant), with a number (kCounter), or a place where scopes were lost (kLoss).
struct InstantEvent {
  enum class Kind : uint8_t { kInstant, kCounter, kLoss };
  Kind kind = Kind::kInstant;
  std::string_view name;  // as FunctionEvent::name
  uint32_t name_id = 0;
  int64_t time_ns = 0;  // Unix ns
  double value = 0;     // kCounter: the value; kLoss: how many scopes were lost just before
  int64_t since_ns = 0;  // kLoss: when the first of them was lost
  uint32_t thread = 0;
  int32_t device_resource_id = 0;  // OS thread id
};

// What an allocator did: `[memory]`, or `[OutOfMemory]` for an allocation that failed.
struct MemoryEvent {
  int64_t time_ns = 0;  // Unix ns
  uint64_t address = 0;
  int64_t bytes = 0;            // negative: freed
  int64_t total_allocated = 0;  // by the allocator, after it; 0 if it does not say
  int64_t total_reserved = 0;
  // The innermost scope that was open on the thread; 0: none, the bytes belong to nobody.
  int64_t scope_id = 0;
  uint32_t thread = 0;
  int32_t device_resource_id = 0;  // OS thread id
  int16_t device_index = -1;       // -1 for the CPU
  DeviceType device_type = DeviceType::kCpu;
  bool out_of_memory = false;
};

// One forward -> backward arrow. At most one for each forward op.
struct ForwardBackwardLink {
  int64_t flow_id = 0;  // from 1, unique in the session
  int64_t forward_id = 0;
  int64_t backward_id = 0;
  int64_t forward_start_ns = 0;
  int64_t backward_start_ns = 0;
  int32_t forward_os_tid = 0;
  int32_t backward_os_tid = 0;
};

// Sent once for each thread before its first event, and again when its name or its logical id changes.
struct ThreadInfo {
  uint32_t thread = 0;           // logical id, as in FunctionEvent::thread
  uint32_t previous_thread = 0;  // != 0: events already delivered under this id belong to `thread` too
  int32_t os_tid = 0;
  std::string name;  // empty if never named
};

// Time on a device that turned out to belong to scopes that are closed, and delivered, for long: to be added to what is
// said of all scopes with that key. An event on a device comes with as many of these as there are scopes whose times it
// changes: the one it was launched in gets it as its own and in its total, those around it in their totals. Over a whole
// session the sums are what EventList computes from the events.
struct DeviceTimeShare {
  std::string_view name;  // as FunctionEvent::name
  uint32_t name_id = 0;
  bool is_user_annotation = false;
  bool is_legacy = false;
  // As EventDetails::recorded: shapes, stack and the like, by which scopes may be told apart.
  std::string_view recorded;
  int64_t self_ns = 0;  // may be negative: what a scope inside has, the one around it has not as its own
  int64_t total_ns = 0;
};

// Sent once for each device before its first event.
struct DeviceInfo {
  DeviceType type = DeviceType::kCuda;
  int16_t index = 0;
  std::string name;
  uint64_t memory_bytes = 0;
  int32_t compute_major = 0;
  int32_t compute_minor = 0;
  int32_t multiprocessors = 0;
  int32_t warp_size = 0;
};

// Sent once for each stream before its first event.
struct StreamInfo {
  int16_t device_index = 0;
  int32_t stream = 0;  // FunctionEvent::device_resource_id; > 0
  std::string name;    // empty, or what kind of stream it is: "legacy default stream"
};

struct EventBatch {
  std::vector<FunctionEvent> events;
  std::vector<InstantEvent> instants;
  std::vector<MemoryEvent> memory;
  std::vector<ForwardBackwardLink> links;
  std::vector<ThreadInfo> threads;
  std::vector<DeviceTimeShare> device_times;
  std::vector<DeviceInfo> devices;
  std::vector<StreamInfo> streams;
  // Of the events that have any; a deque, so that they stay where they are.
  std::deque<EventDetails> details;
  std::deque<DeviceLaunch> launches;
  // Names that did not fit into the name table, and what details point to.
  TextArena texts;
  // 1, 2, 3, … in a session: an exporter that misses a number was too slow for the batches in between. 0 if unknown.
  uint64_t sequence = 0;
  // How many of the events and instants the drain made of itself (steps, events on devices, places of loss): nobody
  // attempted them.
  size_t extra = 0;

  // Memory that an exporter's queue accounts for, in bytes.
  size_t bytes() const {
    return sizeof(*this) + events.capacity() * sizeof(FunctionEvent) + instants.capacity() * sizeof(InstantEvent) +
           memory.capacity() * sizeof(MemoryEvent) + links.capacity() * sizeof(ForwardBackwardLink) +
           threads.capacity() * sizeof(ThreadInfo) +
           device_times.capacity() * sizeof(DeviceTimeShare) + details.size() * sizeof(EventDetails) +
           launches.size() * sizeof(DeviceLaunch) + texts.capacity_bytes();
  }

  // What accounting counts: each is one attempt of the program.
  size_t count() const { return events.size() + instants.size() + memory.size() - extra; }
  bool empty() const {
    return events.empty() && instants.empty() && memory.empty() && links.empty() && threads.empty() &&
           device_times.empty() && devices.empty() && streams.empty();
  }

  void Clear() {
    events.clear();
    instants.clear();
    memory.clear();
    links.clear();
    threads.clear();
    device_times.clear();
    devices.clear();
    streams.clear();
    details.clear();
    launches.clear();
    texts.Clear();
    sequence = 0;
    extra = 0;
  }
};

}  // namespace ferret

#endif  // FERRET_EVENT_BATCH_H_
