// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which batches are settled while spans and requests wait.

#include "exporters/otlp/batch_progress.h"

#include <gtest/gtest.h>

namespace ferret::otlp {
namespace {

class BatchProgressTest : public testing::Test {
 protected:
  // As if requests were decided up to that number.
  uint64_t SettledAt(uint64_t decided) {
    return progress_.Settled([decided](uint64_t number) { return number > decided; });
  }

  BatchProgress progress_;
};

TEST_F(BatchProgressTest, NothingIsSettledAtFirst) {
  EXPECT_EQ(SettledAt(100), 0u);
  EXPECT_FALSE(progress_.waits());
}

TEST_F(BatchProgressTest, ABatchThatLeftNothingIsSettledAtOnce) {
  progress_.Through(3, /*in_request=*/false);
  EXPECT_TRUE(progress_.waits());
  EXPECT_EQ(SettledAt(0), 3u);
  EXPECT_FALSE(progress_.waits());
}

TEST_F(BatchProgressTest, ABatchWaitsForTheLastRequestThatWasPushed) {
  progress_.Pushed(1);
  progress_.Pushed(2);
  progress_.Through(3, false);
  EXPECT_EQ(SettledAt(1), 0u);
  EXPECT_EQ(SettledAt(2), 3u);
}

TEST_F(BatchProgressTest, ABatchWaitsForTheRequestThatIsNotFullYet) {
  progress_.Pushed(1);
  progress_.Through(3, true);
  EXPECT_EQ(SettledAt(100), 0u);
  progress_.Pushed(5);  // of another signal there were three in between
  EXPECT_EQ(SettledAt(4), 0u);
  EXPECT_EQ(SettledAt(5), 3u);
}

TEST_F(BatchProgressTest, SeveralBatchesInOneRequestAreSettledTogether) {
  progress_.Through(3, true);
  progress_.Through(4, true);
  progress_.Pushed(1);
  progress_.Through(6, true);
  EXPECT_EQ(SettledAt(1), 4u);
  progress_.Pushed(2);
  EXPECT_EQ(SettledAt(2), 6u);
}

TEST_F(BatchProgressTest, ABatchIsNoOlderThanThoseBeforeIt) {
  progress_.Through(3, true);
  progress_.Through(2, false);
  EXPECT_EQ(SettledAt(100), 0u);
  progress_.Pushed(1);
  progress_.Through(3, true);  // said before
  EXPECT_EQ(SettledAt(1), 3u);
}

}  // namespace
}  // namespace ferret::otlp
