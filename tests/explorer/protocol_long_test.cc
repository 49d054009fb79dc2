// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The protocol as it is, further than protocol_test goes.

#include <gtest/gtest.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "tests/explorer/protocol.h"

namespace ferret::explorer {
namespace {

void NothingBreaks(int chunks, int passes, std::vector<int> scopes, bool nested = false) {
  Protocol protocol;
  protocol.chunks = chunks;
  protocol.passes = passes;
  protocol.scopes = std::move(scopes);
  protocol.nested = nested;
  const Result result = Explore({}, Make(protocol));
  std::printf("%s: %s\n", Text(protocol).c_str(), result.Numbers().c_str());
  EXPECT_TRUE(result.exhausted);
  EXPECT_EQ(result.failure, "") << Text(protocol) << "\n" << result.shortest;
}

TEST(ChunkProtocol, HoldsForAProducerAndADrainWithTwoChunksForLonger) {
  NothingBreaks(2, 4, {5});
  NothingBreaks(2, 3, {6});
  NothingBreaks(2, 3, {4}, true);
}

TEST(ChunkProtocol, HoldsForTwoProducersAndADrainWithThreeChunksForLonger) {
  NothingBreaks(3, 2, {2, 2});
  NothingBreaks(3, 2, {3, 1});
  NothingBreaks(3, 3, {2, 1});
  NothingBreaks(3, 2, {3, 2});
  NothingBreaks(3, 1, {3, 3});
}

TEST(ChunkProtocol, HoldsForThreeProducersAndADrainWithThreeChunks) {
  NothingBreaks(3, 1, {1, 1, 1});
  NothingBreaks(3, 1, {2, 1, 1});
}

}  // namespace
}  // namespace ferret::explorer
