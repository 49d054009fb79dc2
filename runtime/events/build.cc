// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventList::Build.

#include <algorithm>

#include "ferret/event_list.h"
#include "runtime/events/backward_stacks.h"
#include "runtime/events/event_storage.h"
#include "runtime/events/memory_usage.h"
#include "runtime/events/tree.h"

namespace ferret {

void EventList::Build() {
  if (!storage_->memory.empty()) {
    // Those of an earlier call.
    order_.erase(std::remove_if(order_.begin(), order_.end(),
                                [](const FunctionEvent* event) { return IsMemoryEvent(*event); }),
                 order_.end());
    const EventOrder events = order_;
    SetMemoryUsage(events, storage_->memory, this);
  }
  SortByStart(&order_, storage_->recorded);
  LinkTree(order_);
  RemoveDuplicates(&order_, this);
  SetBackwardStacks(order_, this);
  if (!storage_->details.empty()) SetSelfMemory(order_);
  storage_->built = true;
}

}  // namespace ferret
