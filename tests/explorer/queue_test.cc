// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The queues of the memory model, and what the search makes of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/explorer/explorer.h"
#include "tests/explorer/shared_queue.h"

namespace ferret::explorer {
namespace {

struct Shared {
  SharedQueue queue;
  std::atomic<int> x{0};
  int things[4] = {};
  std::string popped[kMaxThreads];  // by thread

  void Push(int thing) { queue.Push(&things[thing]); }
  int Pop(int thread, size_t max = 1) {
    void* items[4];
    const size_t count = queue.Pop(items, max);
    for (size_t i = 0; i < count; ++i) popped[thread] += std::to_string(static_cast<int*>(items[i]) - things);
    if (count == 0) popped[thread] += "-";
    return static_cast<int>(count);
  }
};
using Bodies = std::vector<std::function<void(Shared&)>>;

class QueueProgram final : public Program {
 public:
  QueueProgram(Execution& execution, const Bodies& bodies, bool carry) : bodies_(bodies) {
    std::vector<std::string> roles;
    for (size_t i = 1; i <= bodies.size(); ++i) roles.push_back("thread " + std::to_string(i));
    execution.DeclareThreads(std::move(roles));
    Location x;
    x.kind = x.name = "x";
    x.address = &shared_.x;
    x.bytes = sizeof(shared_.x);
    const int place = execution.model().AddLocation(x);
    if (carry) execution.CarryWithPointers([place](void*) { return place; });
    execution.model().WatchBytes(shared_.things, sizeof(shared_.things));
  }
  void Run(int thread) override { bodies_[static_cast<size_t>(thread) - 1](shared_); }
  std::string Outcome() override {
    std::string outcome;
    for (const std::string& popped : shared_.popped) outcome += (popped.empty() || outcome.empty() ? "" : " ") + popped;
    return outcome;
  }

 private:
  Shared shared_;
  const Bodies& bodies_;
};

Result Everything(const Bodies& bodies, bool carry = false, bool reduce = true) {
  Options options;
  options.reduce = reduce;
  options.executions_after_failure = UINT64_MAX;
  return Explore(options, [&](Execution& e) { return std::make_unique<QueueProgram>(e, bodies, carry); });
}

std::vector<std::string> Outcomes(const Bodies& bodies, bool carry = false) {
  const Result result = Everything(bodies, carry);
  const Result all = Everything(bodies, carry, false);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.different, all.different);
  EXPECT_LE(result.executions, all.executions);
  std::vector<std::string> outcomes;
  for (const auto& outcome : result.outcomes) outcomes.push_back(outcome.first);
  return outcomes;
}

using Strings = std::vector<std::string>;

TEST(Queue, KeepsTheOrderOfAProducer) {
  EXPECT_EQ(Outcomes({[](Shared& s) {
                        s.Push(0);
                        s.Push(1);
                      },
                      [](Shared& s) {
                        s.Pop(2);
                        s.Pop(2);
                      }}),
            (Strings{"--", "-0", "0-", "01"}));
}

TEST(Queue, HasNoOrderAmongProducers) {
  EXPECT_EQ(Outcomes({[](Shared& s) { s.Push(0); }, [](Shared& s) { s.Push(1); },
                      [](Shared& s) {
                        s.Pop(3);
                        s.Pop(3);
                      }}),
            (Strings{"--", "-0", "-1", "0-", "01", "1-", "10"}));
}

TEST(Queue, GivesAnItemToOneConsumer) {
  const auto consumer = [](int thread) {
    return [thread](Shared& s) {
      s.Pop(thread);
      s.Pop(thread);
    };
  };
  const Strings outcomes = Outcomes({[](Shared& s) {
                                       s.Push(0);
                                       s.Push(1);
                                     },
                                     consumer(2), consumer(3)});
  for (const std::string& outcome : outcomes) {
    EXPECT_LE(std::count(outcome.begin(), outcome.end(), '0'), 1) << outcome;
    EXPECT_LE(std::count(outcome.begin(), outcome.end(), '1'), 1) << outcome;
  }
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "0- 1-"), 1);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "1- 0-"), 1);
}

TEST(Queue, GivesSeveralAtOnce) {
  EXPECT_EQ(Outcomes({[](Shared& s) {
                        s.Push(0);
                        s.Push(1);
                        s.Push(2);
                      },
                      [](Shared& s) { s.Pop(2, 2); }}),
            (Strings{"-", "0", "01"}));
}

// Only who knows of an item cannot miss it.
TEST(Queue, MayBeFoundEmptyByWhoDoesNotKnowBetter) {
  const auto bodies = [](std::memory_order order) -> Bodies {
    return {[order](Shared& s) {
              s.Push(0);
              s.x.store(1, order);
            },
            [](Shared& s) {
              if (s.x.load(std::memory_order_acquire) == 1) s.Pop(2);
            }};
  };
  EXPECT_EQ(Outcomes(bodies(std::memory_order_release)), (Strings{"", "0"}));
  EXPECT_EQ(Outcomes(bodies(std::memory_order_relaxed)), (Strings{"", "-", "0"}));
}

TEST(Queue, OrdersNothingButTheValueThatItCarries) {
  const auto bodies = [](std::memory_order store, std::memory_order load) -> Bodies {
    return {[store](Shared& s) {
              s.things[0] = 1;
              s.x.store(1, store);
              s.Push(0);
            },
            [load](Shared& s) {
              if (s.Pop(2) == 1) s.popped[2] += s.x.load(load) == 0 ? " stale" : s.things[0] == 1 ? " new" : " wrong";
            }};
  };
  EXPECT_EQ(Outcomes(bodies(std::memory_order_release, std::memory_order_acquire)), (Strings{"-", "0 new", "0 stale"}));
  EXPECT_EQ(Outcomes(bodies(std::memory_order_release, std::memory_order_acquire), true), (Strings{"-", "0 new"}));
  for (const auto& orders : {std::pair(std::memory_order_relaxed, std::memory_order_acquire),
                             std::pair(std::memory_order_release, std::memory_order_relaxed)}) {
    EXPECT_NE(Everything(bodies(orders.first, orders.second), true).failure.find("data race"), std::string::npos);
  }
}

}  // namespace
}  // namespace ferret::explorer
