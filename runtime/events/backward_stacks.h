// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Backward ops run where no line of the program called them: they get the stacks of their forward ops.

#ifndef FERRET_RUNTIME_EVENTS_BACKWARD_STACKS_H_
#define FERRET_RUNTIME_EVENTS_BACKWARD_STACKS_H_

#include "runtime/events/tree.h"

namespace ferret {

// The order is that of a linked list: parents before their children.
void SetBackwardStacks(const EventOrder& order, EventList* list);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_BACKWARD_STACKS_H_
