// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/op_context.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/torch/malloc_counter.h"

namespace ferret::torch_adapter {
namespace {

using Context = std::unique_ptr<at::ObserverContext>;

void Nest(int depth) {
  const Context context(new OpContext);
  if (depth > 1) Nest(depth - 1);
}

TEST(OpContext, SteadyStateAllocatesNothing) {
  Nest(40);
  const uint64_t before = MallocsOfThisThread();
  for (int i = 0; i < 1000; ++i) Nest(1 + i % 40);
  EXPECT_EQ(MallocsOfThisThread(), before);
}

TEST(OpContext, NewContextIsOneMalloc) {
  std::thread([] {
    Nest(1);  // what the thread keeps for itself
    std::vector<Context> contexts;
    contexts.reserve(11);
    contexts.emplace_back(new OpContext);
    const uint64_t before = MallocsOfThisThread();
    for (int i = 0; i < 10; ++i) contexts.emplace_back(new OpContext);
    EXPECT_EQ(MallocsOfThisThread(), before + 10);
  }).join();
}

TEST(OpContext, MayBeFreedOnAnotherThreadAndAfterItsOwnHasEnded) {
  std::vector<Context> contexts;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) contexts.emplace_back(new OpContext);
  }).join();
  const uint64_t before = LiveBlocks();
  std::thread([&] { contexts.clear(); }).join();
  // That thread has kept some for itself and freed them when it ended.
  EXPECT_LE(LiveBlocks() + 1000, before + 20);
}

TEST(OpContext, ThreadsThatComeAndGoLeaveNothingBehind) {
  const auto work = [] { std::thread(Nest, 50).join(); };
  for (int i = 0; i < 10; ++i) work();
  const uint64_t before = LiveBlocks();
  for (int i = 0; i < 100; ++i) work();
  EXPECT_LE(LiveBlocks(), before + 20);
}

thread_local Context t_late;

TEST(OpContext, IsFreedByThreadLocalDestructorsToo) {
  const uint64_t before = LiveBlocks();
  for (int i = 0; i < 100; ++i) {
    std::thread([] {
      t_late.reset(new OpContext);
      Nest(5);
    }).join();
  }
  EXPECT_LE(LiveBlocks(), before + 20);
}

}  // namespace
}  // namespace ferret::torch_adapter
