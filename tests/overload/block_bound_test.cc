// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How long FERRET_OVERFLOW=block makes a thread wait, on a clock that only its waiting moves.

#include <gtest/gtest.h>

#include "tests/overload/naps.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

Site g_site{"blocked", RecordType::kScopeBegin, 0};

class BlockBound : public testing::TestWithParam<int64_t> {};

TEST_P(BlockBound, IsWhatAThreadWaitsAndNotANanosecondMore) {
  const int64_t limit = GetParam();
  Recorder* const recorder = NewRecorder({.chunks = 2, .policy = OverflowPolicy::kBlock, .block_limit_ns = limit});
  OnThread([&] {
    const RecordingOn on(recorder);
    const VirtualTime time;
    const int64_t naps_before = Naps();
    int64_t waited = 0;
    int waits = 0;
    for (int i = 0; i < 10'000; ++i) {
      const int64_t before = NapNs();
      EndScope(BeginScope(g_site));
      const int64_t nap_ns = NapNs() - before;
      waited += nap_ns;
      waits += nap_ns > 0;
    }
    EXPECT_EQ(waited, limit);
    EXPECT_EQ(waits, 1) << "nothing was recycled since: there is nothing to wait for again";
    // They get longer, so that a thread that waits costs others little.
    EXPECT_LE(Naps() - naps_before, 8 + limit / 2'000'000);
  });
}

INSTANTIATE_TEST_SUITE_P(Of, BlockBound, testing::Values(1'000'000, 7'654'321, 100'000'000, 10'000'000'000));

TEST(BlockBoundOfManyThreads, EachWaitsOnceForItself) {
  constexpr int64_t kLimit = 100'000'000;
  Recorder* const recorder = NewRecorder({.chunks = 2, .policy = OverflowPolicy::kBlock, .block_limit_ns = kLimit});
  const RecordingOn on(recorder);
  for (int thread = 0; thread < 20; ++thread) {
    OnThread([&] {
      const VirtualTime time;
      for (int i = 0; i < 5'000; ++i) EndScope(BeginScope(g_site));
      EXPECT_EQ(NapNs(), kLimit);
    });
  }
}

}  // namespace
}  // namespace ferret::internal
