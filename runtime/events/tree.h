// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The tree of an EventList, from the times of its events. The steps of EventList::Build that need nothing but the
// events, in the order in which they are taken.

#ifndef FERRET_RUNTIME_EVENTS_TREE_H_
#define FERRET_RUNTIME_EVENTS_TREE_H_

#include <vector>

#include "ferret/event_list.h"

namespace ferret {

using EventOrder = std::vector<FunctionEvent*>;

// By start, of those that start together the one that ends last first. What is equal in both stays as it is, or is
// sorted by id where ids are in the order of the begins. Linear in the number of events.
void SortByStart(EventOrder* order, bool ids_by_begin);

// Links parents and children of a sorted list, and sets parent_id and self_ns.
void LinkTree(const EventOrder& order);

// Takes out every only child that is called as its parent. The list is for what the parents inherit.
void RemoveDuplicates(EventOrder* order, EventList* list);

// What the memory of an event is less that of its children.
void SetSelfMemory(const EventOrder& order);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TREE_H_
