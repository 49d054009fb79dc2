// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A queue of the memory model, as the modelled threads see it.

#ifndef FERRET_TESTS_EXPLORER_SHARED_QUEUE_H_
#define FERRET_TESTS_EXPLORER_SHARED_QUEUE_H_

#include <cstddef>

namespace ferret::explorer {

class SharedQueue {
 public:
  // While an execution is being set up.
  SharedQueue();
  void Push(void* item);
  // Up to `max`; how many.
  size_t Pop(void** items, size_t max);

 private:
  const int place_;
};

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_SHARED_QUEUE_H_
