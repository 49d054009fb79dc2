// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which events an allocation belongs to.

#ifndef FERRET_RUNTIME_EVENTS_MEMORY_USAGE_H_
#define FERRET_RUNTIME_EVENTS_MEMORY_USAGE_H_

#include <vector>

#include "runtime/events/tree.h"

namespace ferret {

inline constexpr char kMemoryName[] = "[memory]";
inline constexpr char kOutOfMemoryName[] = "[OutOfMemory]";

// Whether the event stands for a memory record: it is none of the program's own, and no trace shows it as one.
inline bool IsMemoryEvent(const FunctionEvent& event) {
  return event.is_synthesized && (event.name == kMemoryName || event.name == kOutOfMemoryName);
}

// Sets the memory of each CPU event to the sum of its records, and adds an event for each record that belongs to none
// and for each failed allocation. See EventList::Config::memory_of_all_threads for what belongs to an event: its own
// thread's records from its start to before its end, or, for all threads, from its start to its end.
void SetMemoryUsage(const EventOrder& order, const std::vector<MemoryRecord>& records, EventList* list);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_MEMORY_USAGE_H_
