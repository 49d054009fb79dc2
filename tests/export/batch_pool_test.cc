// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/batch_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace ferret {
namespace {

TEST(BatchPool, AReleasedBatchComesBackEmptyWithItsMemory) {
  BatchPool pool;
  std::shared_ptr<EventBatch> batch = pool.Acquire();
  batch->events.resize(1000);
  batch->instants.resize(10);
  batch->links.resize(10);
  batch->threads.resize(10);
  batch->texts.Keep("text");
  const FunctionEvent* memory = batch->events.data();
  batch.reset();
  EXPECT_EQ(pool.kept(), 1u);

  batch = pool.Acquire();
  EXPECT_EQ(pool.kept(), 0u);
  EXPECT_TRUE(batch->empty());
  EXPECT_TRUE(batch->texts.empty());
  EXPECT_EQ(batch->events.data(), memory);
  EXPECT_GE(batch->events.capacity(), 1000u);
}

TEST(BatchPool, TheLastReferenceReleasesWhateverItsType) {
  BatchPool pool;
  std::shared_ptr<EventBatch> batch = pool.Acquire();
  std::shared_ptr<const EventBatch> shared = batch;
  batch.reset();
  EXPECT_EQ(pool.kept(), 0u);
  shared.reset();
  EXPECT_EQ(pool.kept(), 1u);
}

TEST(BatchPool, TheLatestReleasedIsHandedOutFirst) {
  BatchPool pool;
  std::shared_ptr<EventBatch> first = pool.Acquire();
  std::shared_ptr<EventBatch> second = pool.Acquire();
  const EventBatch* warm = first.get();
  second.reset();
  first.reset();
  EXPECT_EQ(pool.Acquire().get(), warm);
}

TEST(BatchPool, KeepsNoMoreThanItsBound) {
  BatchPool pool(2);
  std::vector<std::shared_ptr<EventBatch>> batches;
  for (int i = 0; i < 5; ++i) batches.push_back(pool.Acquire());
  batches.clear();
  EXPECT_EQ(pool.kept(), 2u);
}

TEST(BatchPool, ABatchMayOutliveThePool) {
  std::shared_ptr<EventBatch> batch;
  {
    BatchPool pool;
    batch = pool.Acquire();
  }
  batch->events.resize(10);
  batch.reset();
}

}  // namespace
}  // namespace ferret
