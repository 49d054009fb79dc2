// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventList::Build.

#include "ferret/event_list.h"
#include "runtime/events/backward_stacks.h"
#include "runtime/events/event_storage.h"
#include "runtime/events/memory_usage.h"
#include "runtime/events/tree.h"

namespace ferret {

void EventList::Build() {
  if (!storage_->memory.empty()) {
    // Adds to the list.
    const EventOrder events = order_;
    SetMemoryUsage(events, storage_->memory, this);
    storage_->memory.clear();
  }
  SortByStart(&order_, storage_->recorded);
  LinkTree(order_);
  RemoveDuplicates(&order_, this);
  if (!storage_->details.empty()) {
    SetBackwardStacks(order_, this);
    SetSelfMemory(order_);
  }
  storage_->built = true;
  storage_->self_times.reset();
}

}  // namespace ferret
