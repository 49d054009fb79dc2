// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for moodycamel's queue under the explorer: first-in first-out for each producer, no order among producers,
// and an item may be missed by whoever does not know that it was put in. Nothing happens before anything through it;
// what the protocol needs in that way must come from the chunks' own atomics.

#ifndef FERRET_TESTS_EXPLORER_MODEL_CONCURRENTQUEUE_H_
#define FERRET_TESTS_EXPLORER_MODEL_CONCURRENTQUEUE_H_

#include <cstddef>

#include "tests/explorer/shared_queue.h"

namespace moodycamel {

struct ConcurrentQueueDefaultTraits {
  static constexpr size_t BLOCK_SIZE = 32;
};

struct ProducerToken {
  template <typename Queue>
  explicit ProducerToken(Queue&) {}
  bool valid() const { return true; }
};

template <typename T, typename Traits>
class ConcurrentQueue {
 public:
  static constexpr size_t BLOCK_SIZE = Traits::BLOCK_SIZE;

  explicit ConcurrentQueue(size_t) {}
  ConcurrentQueue(size_t, size_t, size_t) {}

  bool try_enqueue(ProducerToken&, T item) {
    queue_.Push(item);
    return true;
  }
  bool enqueue(ProducerToken& token, T item) { return try_enqueue(token, item); }
  bool try_dequeue(T& item) { return try_dequeue_bulk(&item, 1) == 1; }
  size_t try_dequeue_bulk(T* items, size_t max) {
    void* popped[kMaxItems];
    const size_t count = queue_.Pop(popped, max < kMaxItems ? max : kMaxItems);
    for (size_t i = 0; i < count; ++i) items[i] = static_cast<T>(popped[i]);
    return count;
  }
  // Approximate, so anything is right.
  size_t size_approx() const { return 0; }

 private:
  static constexpr size_t kMaxItems = 8;
  ferret::explorer::SharedQueue queue_;
};

}  // namespace moodycamel

#endif  // FERRET_TESTS_EXPLORER_MODEL_CONCURRENTQUEUE_H_
