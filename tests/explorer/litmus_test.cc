// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The explorer against the classical litmus tests: what C++ allows is seen, what it forbids is not. The programs use
// std::atomic as all code does.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/explorer/explorer.h"

namespace ferret::explorer {
namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

struct Memory {
  std::atomic<int> x{0};
  std::atomic<int> y{0};
  int plain = 0;
  int read[4] = {-1, -1, -1, -1};  // each written by one thread
};
using Bodies = std::vector<std::function<void(Memory&)>>;

class Litmus final : public Program {
 public:
  // `x_writers`: the threads that are declared to store to x, in an order that happens-before fixes; 0: nothing is.
  Litmus(Execution& execution, const Bodies& bodies, int reads, uint32_t x_writers)
      : bodies_(bodies), reads_(reads) {
    std::vector<std::string> roles;
    for (size_t i = 1; i <= bodies.size(); ++i) roles.push_back("thread " + std::to_string(i));
    execution.DeclareThreads(std::move(roles));
    Declare(execution, "x", &memory_.x, x_writers);
    Declare(execution, "y", &memory_.y, 0);
    execution.model().WatchBytes(&memory_.plain, sizeof(memory_.plain));
  }
  void Run(int thread) override { bodies_[static_cast<size_t>(thread) - 1](memory_); }
  std::string Outcome() override {
    std::string outcome;
    for (int i = 0; i < reads_; ++i) outcome += (i == 0 ? "" : " ") + std::to_string(memory_.read[i]);
    return outcome;
  }

 private:
  static void Declare(Execution& execution, const char* name, const std::atomic<int>* at, uint32_t writers) {
    Location location;
    location.kind = location.name = name;
    location.address = at;
    location.bytes = sizeof(*at);
    if (writers != 0) {
      location.writers = writers;
      location.ordered = true;
    }
    execution.model().AddLocation(location);
  }

  Memory memory_;
  const Bodies& bodies_;
  const int reads_;
};

Result Everything(int reads, const Bodies& bodies, bool reduce = true, uint32_t x_writers = 0) {
  Options options;
  options.reduce = reduce;
  options.executions_after_failure = UINT64_MAX;
  return Explore(options, [&](Execution& execution) {
    return std::make_unique<Litmus>(execution, bodies, reads, x_writers);
  });
}

// The outcomes, after a look at whether the search without reductions finds the same executions.
std::vector<std::string> Outcomes(int reads, const Bodies& bodies) {
  const Result result = Everything(reads, bodies);
  const Result all = Everything(reads, bodies, false);
  EXPECT_TRUE(result.exhausted && all.exhausted);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.different, all.different);
  EXPECT_EQ(result.different.size(), result.executions) << "some executions are repetitions";
  EXPECT_LE(result.executions, all.executions);
  std::vector<std::string> outcomes;
  for (const auto& outcome : result.outcomes) outcomes.push_back(outcome.first);
  return outcomes;
}

using Strings = std::vector<std::string>;

Bodies MessagePassing(std::memory_order store, std::memory_order load) {
  return {[store](Memory& m) {
            m.x.store(1, memory_order_relaxed);
            m.y.store(1, store);
          },
          [load](Memory& m) {
            m.read[0] = m.y.load(load);
            m.read[1] = m.x.load(memory_order_relaxed);
          }};
}

TEST(Litmus, MessagesPassThroughReleaseAndAcquireOnly) {
  const Strings without_stale = {"0 0", "0 1", "1 1"};
  const Strings all = {"0 0", "0 1", "1 0", "1 1"};
  EXPECT_EQ(Outcomes(2, MessagePassing(memory_order_release, memory_order_acquire)), without_stale);
  EXPECT_EQ(Outcomes(2, MessagePassing(memory_order_seq_cst, memory_order_seq_cst)), without_stale);
  EXPECT_EQ(Outcomes(2, MessagePassing(memory_order_relaxed, memory_order_acquire)), all);
  EXPECT_EQ(Outcomes(2, MessagePassing(memory_order_release, memory_order_relaxed)), all);
  EXPECT_EQ(Outcomes(2, MessagePassing(memory_order_relaxed, memory_order_relaxed)), all);
}

Bodies StoreBuffering(std::memory_order store, std::memory_order load) {
  return {[=](Memory& m) {
            m.x.store(1, store);
            m.read[0] = m.y.load(load);
          },
          [=](Memory& m) {
            m.y.store(1, store);
            m.read[1] = m.x.load(load);
          }};
}

TEST(Litmus, StoresMayBeBufferedUnlessSequentiallyConsistent) {
  const Strings all = {"0 0", "0 1", "1 0", "1 1"};
  EXPECT_EQ(Outcomes(2, StoreBuffering(memory_order_relaxed, memory_order_relaxed)), all);
  EXPECT_EQ(Outcomes(2, StoreBuffering(memory_order_release, memory_order_acquire)), all);
  EXPECT_EQ(Outcomes(2, StoreBuffering(memory_order_seq_cst, memory_order_seq_cst)), (Strings{"0 1", "1 0", "1 1"}));
}

Bodies LoadBuffering(std::memory_order load, std::memory_order store) {
  return {[=](Memory& m) {
            m.read[0] = m.x.load(load);
            m.y.store(1, store);
          },
          [=](Memory& m) {
            m.read[1] = m.y.load(load);
            m.x.store(1, store);
          }};
}

// With relaxed operations C++ allows "1 1", which the model leaves out.
TEST(Litmus, NoLoadReadsFromTheFuture) {
  const Strings expected = {"0 0", "0 1", "1 0"};
  EXPECT_EQ(Outcomes(2, LoadBuffering(memory_order_acquire, memory_order_release)), expected);
  EXPECT_EQ(Outcomes(2, LoadBuffering(memory_order_relaxed, memory_order_relaxed)), expected);
}

Bodies IndependentReads(std::memory_order store, std::memory_order load) {
  return {[=](Memory& m) { m.x.store(1, store); }, [=](Memory& m) { m.y.store(1, store); },
          [=](Memory& m) {
            m.read[0] = m.x.load(load);
            m.read[1] = m.y.load(load);
          },
          [=](Memory& m) {
            m.read[2] = m.y.load(load);
            m.read[3] = m.x.load(load);
          }};
}

TEST(Litmus, ReadersOfIndependentWritesAgreeOnlyIfSequentiallyConsistent) {
  const Strings weak = Outcomes(4, IndependentReads(memory_order_release, memory_order_acquire));
  EXPECT_EQ(weak.size(), 16u);
  EXPECT_EQ(Outcomes(4, IndependentReads(memory_order_relaxed, memory_order_relaxed)).size(), 16u);
  const Strings strong = Outcomes(4, IndependentReads(memory_order_seq_cst, memory_order_seq_cst));
  EXPECT_EQ(strong.size(), 15u);
  EXPECT_EQ(std::count(strong.begin(), strong.end(), "1 0 1 0"), 0);
}

TEST(Litmus, ReadsOfOneLocationNeverGoBack) {
  const Bodies bodies = {[](Memory& m) {
                           m.x.store(1, memory_order_relaxed);
                           m.x.store(2, memory_order_relaxed);
                         },
                         [](Memory& m) {
                           m.read[0] = m.x.load(memory_order_relaxed);
                           m.read[1] = m.x.load(memory_order_relaxed);
                         }};
  EXPECT_EQ(Outcomes(2, bodies), (Strings{"0 0", "0 1", "0 2", "1 1", "1 2", "2 2"}));
}

TEST(Litmus, TwoReadersSeeTheStoresOfTwoWritersInTheSameOrder) {
  const auto reader = [](int at) {
    return [at](Memory& m) {
      m.read[at] = m.x.load(memory_order_relaxed);
      m.read[at + 1] = m.x.load(memory_order_relaxed);
    };
  };
  const Bodies bodies = {[](Memory& m) { m.x.store(1, memory_order_relaxed); },
                         [](Memory& m) { m.x.store(2, memory_order_relaxed); }, reader(0), reader(2)};
  const Strings outcomes = Outcomes(4, bodies);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "1 2 1 2"), 1);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "2 1 2 1"), 1);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "1 2 2 1"), 0);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "2 1 1 2"), 0);
}

TEST(Litmus, AReadModifyWritePassesOnWhatItReadWithoutTakingItOver) {
  const auto bodies = [](std::memory_order middle) -> Bodies {
    return {[](Memory& m) {
              m.x.store(1, memory_order_relaxed);
              m.y.store(1, memory_order_release);
            },
            [middle](Memory& m) { m.read[0] = m.y.fetch_add(1, middle); },
            [](Memory& m) {
              m.read[1] = m.y.load(memory_order_acquire);
              m.read[2] = m.x.load(memory_order_relaxed);
            }};
  };
  for (const std::memory_order order : {memory_order_relaxed, memory_order_acq_rel}) {
    const Strings outcomes = Outcomes(3, bodies(order));
    // The third thread reads 2: the second one went between, and the first one's stores are known.
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "1 2 1"), 1);
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), "1 2 0"), 0);
  }
}

TEST(Litmus, ReadModifyWritesOfTwoThreadsDoNotGetLost) {
  const auto add = [](int at) { return [at](Memory& m) { m.read[at] = m.x.fetch_add(1, memory_order_relaxed); }; };
  EXPECT_EQ(Outcomes(2, {add(0), add(1)}), (Strings{"0 1", "1 0"}));
  const auto exchange = [](int at) {
    return [at](Memory& m) {
      int expected = 0;
      m.read[at] = m.x.compare_exchange_strong(expected, 1, memory_order_relaxed) ? 1 : 0;
    };
  };
  EXPECT_EQ(Outcomes(2, {exchange(0), exchange(1)}), (Strings{"0 1", "1 0"}));
}

Bodies PlainMessage(std::memory_order store, std::memory_order load) {
  return {[store](Memory& m) {
            m.plain = 7;
            m.y.store(1, store);
          },
          [load](Memory& m) {
            if (m.y.load(load) == 1) m.read[0] = m.plain;
          }};
}

TEST(Races, PlainBytesBehindReleaseAndAcquireAreNotOne) {
  EXPECT_EQ(Outcomes(1, PlainMessage(memory_order_release, memory_order_acquire)), (Strings{"-1", "7"}));
}

TEST(Races, PlainBytesBehindAnythingWeakerAreOne) {
  for (const auto& orders : {std::pair(memory_order_relaxed, memory_order_acquire),
                             std::pair(memory_order_release, memory_order_relaxed)}) {
    const Result result = Everything(1, PlainMessage(orders.first, orders.second));
    EXPECT_NE(result.failure.find("data race"), std::string::npos) << result.failure;
    EXPECT_EQ(result.failures, 1u);
    EXPECT_EQ(result.executions, 2u);
  }
}

// The reader comes first, and the writer must know that it is through.
TEST(Races, AWriteAfterAnUnorderedReadIsOne) {
  const auto bodies = [](std::memory_order store) -> Bodies {
    return {[store](Memory& m) {
              m.read[0] = m.plain;
              m.x.store(1, store);
            },
            [](Memory& m) {
              if (m.x.load(memory_order_acquire) == 1) m.plain = 7;
            }};
  };
  EXPECT_EQ(Everything(1, bodies(memory_order_release)).failures, 0u);
  EXPECT_EQ(Everything(1, bodies(memory_order_relaxed)).failures, 1u);
}

// The search relies on what was declared of a location.
TEST(Races, StoresThatWereDeclaredOrderedMustBe) {
  const auto bodies = [](std::memory_order store) -> Bodies {
    return {[store](Memory& m) {
              m.x.store(1, memory_order_relaxed);
              m.y.store(1, store);
            },
            [](Memory& m) {
              if (m.y.load(memory_order_acquire) == 1) m.x.store(2, memory_order_relaxed);
            }};
  };
  constexpr uint32_t kBoth = 1u << 1 | 1u << 2;
  EXPECT_EQ(Everything(0, bodies(memory_order_release), true, kBoth).failure, "");
  EXPECT_EQ(Everything(0, bodies(memory_order_relaxed), true, kBoth).failure, "two unordered stores to x");
}

TEST(Races, AThreadThatWasNotDeclaredAsAWriterMustNotStore) {
  const Bodies bodies = {[](Memory& m) { m.x.store(1, memory_order_relaxed); }};
  EXPECT_EQ(Everything(0, bodies, true, 1u << 1).failure, "");
  EXPECT_EQ(Everything(0, bodies, true, 1u << 2).failure, "thread 1 stores x");
}

TEST(Races, AnUndeclaredSharedAtomicIsAnError) {
  std::atomic<int> z{0};
  const Bodies bodies = {[&z](Memory&) { z.store(1, memory_order_release); },
                         [&z](Memory&) { z.load(memory_order_acquire); }};
  EXPECT_NE(Everything(0, bodies).failure.find("not declared"), std::string::npos);
}

}  // namespace
}  // namespace ferret::explorer
