// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The protocol as it is, further than protocol_test goes.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "tests/explorer/protocol.h"

namespace ferret::explorer {
namespace {

class ChunkProtocol : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    std::printf("FIGURE: explorer: %llu interleavings visited, none breaks the protocol\n",
                static_cast<unsigned long long>(visited_));
  }
  static void NothingBreaks(int chunks, int passes, std::vector<int> scopes, bool nested = false);

 private:
  static uint64_t visited_;
};

uint64_t ChunkProtocol::visited_ = 0;

void ChunkProtocol::NothingBreaks(int chunks, int passes, std::vector<int> scopes, bool nested) {
  Protocol protocol;
  protocol.chunks = chunks;
  protocol.passes = passes;
  protocol.scopes = std::move(scopes);
  protocol.nested = nested;
  const Result result = Explore({}, Make(protocol));
  std::printf("%s: %s\n", Text(protocol).c_str(), result.Numbers().c_str());
  EXPECT_TRUE(result.exhausted);
  EXPECT_EQ(result.failure, "") << Text(protocol) << "\n" << result.shortest;
  visited_ += result.executions;
}

TEST_F(ChunkProtocol, HoldsForAProducerAndADrainWithTwoChunksForLonger) {
  NothingBreaks(2, 4, {5});
  NothingBreaks(2, 3, {6});
  NothingBreaks(2, 3, {4}, true);
}

TEST_F(ChunkProtocol, HoldsForTwoProducersAndADrainWithThreeChunksForLonger) {
  NothingBreaks(3, 2, {2, 2});
  NothingBreaks(3, 2, {3, 1});
  NothingBreaks(3, 3, {2, 1});
  NothingBreaks(3, 2, {3, 2});
  NothingBreaks(3, 1, {3, 3});
}

TEST_F(ChunkProtocol, HoldsForThreeProducersAndADrainWithThreeChunks) {
  NothingBreaks(3, 1, {1, 1, 1});
  NothingBreaks(3, 1, {2, 1, 1});
}

}  // namespace
}  // namespace ferret::explorer
