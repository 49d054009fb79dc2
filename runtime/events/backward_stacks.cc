// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/backward_stacks.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/events/detail_reader.h"
#include "runtime/events/detail_text.h"

namespace ferret {
namespace {

bool FindStack(const FunctionEvent& event, std::string_view* payload) {
  return event.details != nullptr && FindDetail(event.details->recorded, internal::DetailKind::kStack, payload);
}

// A later item of a kind takes the place of an earlier one.
void SetStack(std::string_view payload, FunctionEvent* event, EventList* list) {
  EventDetails& details = list->DetailsOf(*event);
  std::string recorded(details.recorded);
  AppendDetail(internal::DetailKind::kStack, &recorded,
               [payload](internal::DetailWriter* out) { out->Bytes(payload.data(), payload.size()); });
  details.recorded = list->Intern(recorded);
}

}  // namespace

void SetBackwardStacks(const EventOrder& order, EventList* list) {
  // The innermost backward op around an event, itself included, for the events that have one.
  absl::flat_hash_map<const FunctionEvent*, const FunctionEvent*> backward;
  using Origin = std::pair<int64_t, uint32_t>;  // sequence number, thread
  absl::flat_hash_map<Origin, std::string_view> stacks;
  for (const FunctionEvent* event : order) {
    if (event->scope == RecordScope::kBackwardFunction) {
      backward[event] = event;
      continue;
    }
    if (const auto found = backward.find(event->cpu_parent); found != backward.end()) {
      const FunctionEvent* const around = found->second;
      backward[event] = around;
      continue;
    }
    std::string_view stack;
    if (event->sequence_nr >= 0 && FindStack(*event, &stack)) {
      stacks.try_emplace(Origin(event->sequence_nr, event->thread), stack);
    }
  }
  for (FunctionEvent* event : order) {
    const auto found = backward.find(event);
    if (found == backward.end()) continue;
    const FunctionEvent& around = *found->second;
    const auto stack = stacks.find(Origin(around.sequence_nr, around.fwd_thread));
    std::string_view own;
    const bool has_own = FindStack(*event, &own);
    const std::string_view wanted = stack == stacks.end() ? std::string_view() : stack->second;
    if (has_own ? own != wanted : !wanted.empty()) SetStack(wanted, event, list);
  }
}

}  // namespace ferret
