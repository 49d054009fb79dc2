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

struct EventBatch {
  std::vector<FunctionEvent> events;
  std::vector<InstantEvent> instants;
  std::vector<MemoryEvent> memory;
  std::vector<ForwardBackwardLink> links;
  std::vector<ThreadInfo> threads;
  // Of the events that have any; a deque, so that they stay where they are.
  std::deque<EventDetails> details;
  // Names that did not fit into the name table, and what details point to.
  TextArena texts;
  // 1, 2, 3, … in a session: an exporter that misses a number was too slow for the batches in between. 0 if unknown.
  uint64_t sequence = 0;
  // How many of the events and instants the drain made of itself (steps, places of loss): nobody attempted them.
  size_t extra = 0;

  // Memory that an exporter's queue accounts for, in bytes.
  size_t bytes() const {
    return sizeof(*this) + events.capacity() * sizeof(FunctionEvent) + instants.capacity() * sizeof(InstantEvent) +
           memory.capacity() * sizeof(MemoryEvent) + links.capacity() * sizeof(ForwardBackwardLink) +
           threads.capacity() * sizeof(ThreadInfo) + details.size() * sizeof(EventDetails) + texts.capacity_bytes();
  }

  // What accounting counts: each is one attempt of the program.
  size_t count() const { return events.size() + instants.size() + memory.size() - extra; }
  bool empty() const {
    return events.empty() && instants.empty() && memory.empty() && links.empty() && threads.empty();
  }

  void Clear() {
    events.clear();
    instants.clear();
    memory.clear();
    links.clear();
    threads.clear();
    details.clear();
    texts.Clear();
    sequence = 0;
    extra = 0;
  }
};

}  // namespace ferret

#endif  // FERRET_EVENT_BATCH_H_
