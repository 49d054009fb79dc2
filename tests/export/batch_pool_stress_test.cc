// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/export/batch_pool.h"

namespace ferret {
namespace {

// Every batch is filled by one thread and let go of by whichever thread holds the last reference.
TEST(BatchPoolStress, BatchesWanderBetweenThreadsAndNoneIsSharedOrDirty) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 2000;
  BatchPool pool(4);
  std::mutex mutex;
  std::vector<std::shared_ptr<const EventBatch>> shared(16);
  std::atomic<int> dirty{0}, wrong{0};

  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        std::shared_ptr<EventBatch> batch = pool.Acquire();
        if (!batch->empty() || !batch->texts.empty()) ++dirty;
        batch->events.resize(static_cast<size_t>(1 + i % 7));
        for (FunctionEvent& event : batch->events) event.id = t * kRounds + i;
        batch->texts.Keep("a text");

        std::shared_ptr<const EventBatch> other = std::move(batch);
        {
          std::lock_guard<std::mutex> lock(mutex);
          std::swap(other, shared[static_cast<size_t>(t + i) % shared.size()]);
        }
        if (other == nullptr) continue;
        for (const FunctionEvent& event : other->events) {
          if (event.id != other->events.front().id) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.clear();
  EXPECT_EQ(dirty, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pool.kept(), 4u);
}

}  // namespace
}  // namespace ferret
