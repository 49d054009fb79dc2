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

// Gives each CPU event the bytes of its records, and adds an event for each record that belongs to none and for each
// failed allocation. What belongs to an event: its own thread's records from its start to before its end, but for those
// that name a scope, whose bytes are counted already; or, with EventList::Config::memory_of_all_threads, all records
// from its start to its end.
void SetMemoryUsage(const EventOrder& order, const std::vector<MemoryEvent>& records, EventList* list);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_MEMORY_USAGE_H_
