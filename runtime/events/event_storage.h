// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an EventList owns. Events and details never move; texts are kept once each.

#ifndef FERRET_RUNTIME_EVENTS_EVENT_STORAGE_H_
#define FERRET_RUNTIME_EVENTS_EVENT_STORAGE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ferret/event_list.h"
#include "ferret/text_arena.h"
#include "runtime/events/averaging.h"

namespace ferret {

class TextPool {
 public:
  std::string_view Intern(std::string_view text);
  // The same for a name of the process's name table, without hashing it.
  std::string_view InternNamed(std::string_view name, uint32_t name_id);

 private:
  absl::flat_hash_set<std::string_view> texts_;
  std::vector<std::string_view> by_name_id_;
  TextArena arena_;
};

struct EventList::Storage {
  TextPool texts;
  std::deque<FunctionEvent> events;
  std::deque<EventDetails> details;
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
