// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an EventList owns. Events, details and launches never move.

#ifndef FERRET_RUNTIME_EVENTS_EVENT_STORAGE_H_
#define FERRET_RUNTIME_EVENTS_EVENT_STORAGE_H_

#include <deque>
#include <optional>
#include <vector>

#include "ferret/event_list.h"
#include "runtime/events/averaging.h"
#include "runtime/events/text_pool.h"

namespace ferret {

struct EventList::Storage {
  TextPool texts;
  std::deque<FunctionEvent> events;
  std::deque<EventDetails> details;
  std::deque<DeviceLaunch> launches;
  std::vector<MemoryEvent> memory;  // since the last Build
  // Whether an event came with a parent's id: then ids are in the order of the begins.
  bool recorded = false;
  // Whether the order is that of Build: parents before their children.
  bool built = false;
  // Of all events, once somebody asked since the last Build.
  std::optional<SelfTimes> self_times;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_EVENT_STORAGE_H_
