// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The protocol as it is: no execution breaks it.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

#include "tests/explorer/protocol.h"

namespace ferret::explorer {
namespace {

class ChunkProtocol : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    std::printf("FIGURE: explorer: %llu interleavings visited, none breaks the protocol\n",
                static_cast<unsigned long long>(visited_));
  }
  static Result NothingBreaks(const Protocol& protocol);

 private:
  static uint64_t visited_;
};

uint64_t ChunkProtocol::visited_ = 0;

Result ChunkProtocol::NothingBreaks(const Protocol& protocol) {
  const Result result = Explore({}, Make(protocol));
  std::printf("%s: %s\n", Text(protocol).c_str(), result.Numbers().c_str());
  EXPECT_TRUE(result.exhausted);
  EXPECT_EQ(result.failure, "") << Text(protocol) << "\n" << result.shortest;
  visited_ += result.executions;
  return result;
}

TEST_F(ChunkProtocol, HoldsForAProducerAndADrainWithTwoChunks) {
  for (const bool exits_early : {false, true}) {
    for (int passes = 1; passes <= 3; ++passes) {
      for (int scopes = 1; scopes <= 4; ++scopes) {
        Protocol protocol;
        protocol.scopes = {scopes};
        protocol.passes = passes;
        protocol.exits_early = exits_early;
        const Result result = NothingBreaks(protocol);
        EXPECT_EQ(result.different.size(), result.executions) << "some executions are repetitions";
      }
    }
  }
}

TEST_F(ChunkProtocol, HoldsForScopesThatTakeTheInlinedWay) {
  Protocol protocol;
  protocol.nested = true;
  protocol.scopes = {3};
  NothingBreaks(protocol);
}

TEST_F(ChunkProtocol, HoldsForTwoProducersAndADrainWithThreeChunks) {
  for (int passes = 1; passes <= 3; ++passes) {
    Protocol protocol;
    protocol.scopes = {1, 1};
    protocol.chunks = 3;
    protocol.passes = passes;
    NothingBreaks(protocol);
  }
}

TEST_F(ChunkProtocol, HoldsForTwoProducersThatContendForTheLastChunk) {
  Protocol protocol;
  protocol.scopes = {2, 1};
  NothingBreaks(protocol);
}

// Why the queues need an order of their own: an acquire orders only what the store that it reads was released after,
// and nothing but the queue makes the taker of a chunk read the latest owner.
TEST_F(ChunkProtocol, BreaksIfTheQueuesDoNotEvenCarryTheOwner) {
  Protocol protocol;
  protocol.queues_carry_owner = false;
  Options options;
  options.executions_after_failure = UINT64_MAX;
  const Result result = Explore(options, Make(protocol));
  std::printf("without the owner: %s", result.Findings().c_str());
  EXPECT_GT(result.failures, 0u);
}

// The reductions leave out repetitions only.
TEST_F(ChunkProtocol, HasTheSameExecutionsWithoutReductions) {
  Protocol one_scope, exits_early, inlined, two_scopes;
  one_scope.scopes = exits_early.scopes = inlined.scopes = {1};
  exits_early.exits_early = true;
  inlined.nested = true;
  two_scopes.scopes = {2};
  two_scopes.passes = 1;
  for (const Protocol& protocol : {one_scope, exits_early, inlined, two_scopes}) {
    Options options;
    const Result reduced = Explore(options, Make(protocol));
    options.reduce = false;
    const Result all = Explore(options, Make(protocol));
    EXPECT_TRUE(reduced.exhausted && all.exhausted);
    EXPECT_EQ(all.failure, "") << all.shortest;
    EXPECT_EQ(reduced.different, all.different);
    EXPECT_LT(reduced.executions, all.executions);
    std::printf("%s: %s\nwithout reductions: %s\n", Text(protocol).c_str(), reduced.Numbers().c_str(),
                all.Numbers().c_str());
  }
}

}  // namespace
}  // namespace ferret::explorer
