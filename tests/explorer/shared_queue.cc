// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/shared_queue.h"

#include <cstdint>

#include "tests/explorer/execution.h"

namespace ferret::explorer {

SharedQueue::SharedQueue() : place_(Execution::Current()->NewQueue()) {}

void SharedQueue::Push(void* item) {
  Operation operation;
  operation.kind = OperationKind::kPush;
  operation.place = place_;
  operation.operand = reinterpret_cast<uintptr_t>(item);
  Execution::Current()->Perform(operation);
}

size_t SharedQueue::Pop(void** items, size_t max) {
  Operation operation;
  operation.kind = OperationKind::kPop;
  operation.place = place_;
  operation.items = items;
  operation.max = max;
  return Execution::Current()->Perform(operation);
}

}  // namespace ferret::explorer
