// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/span_ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace ferret::otlp {
namespace {

ProcessKey Key() {
  ProcessKey key;
  key.job = "job-17";
  key.rank = 2;
  key.host = "node-b";
  key.pid = 900;
  key.session_start_ns = 1757000000123456789;
  return key;
}

std::string Trace(const ProcessKey& key) {
  const TraceId id = SpanIds(key).trace_id();
  return std::string(id.data(), id.size());
}

TEST(SpanIds, AreTheSameWhereverTheyAreComputed) {
  EXPECT_EQ(Trace(Key()), Trace(Key()));
  EXPECT_EQ(SpanIds(Key()).OfEvent(5), SpanIds(Key()).OfEvent(5));
  EXPECT_EQ(SpanIds(Key()).OfRun(), SpanIds(Key()).OfRun());
}

TEST(SpanIds, AnyFactThatDiffersMakesAnotherTraceWithOtherSpans) {
  ProcessKey job = Key(), rank = Key(), host = Key(), pid = Key(), start = Key(), moved = Key();
  job.job = "job-18";
  rank.rank = 3;
  host.host = "node-c";
  ++pid.pid;
  ++start.session_start_ns;
  moved.job = "job-17n";  // the same bytes, elsewhere
  moved.host = "ode-b";
  std::set<std::string> traces = {Trace(Key())};
  std::set<SpanId> spans = {SpanIds(Key()).OfEvent(1)};
  for (const ProcessKey& key : {job, rank, host, pid, start, moved}) {
    EXPECT_TRUE(traces.insert(Trace(key)).second);
    EXPECT_TRUE(spans.insert(SpanIds(key).OfEvent(1)).second);
  }
}

TEST(SpanIds, OfASessionAreUniqueAndNeverZero) {
  const SpanIds ids(Key());
  std::set<SpanId> seen = {0, ids.OfRun(), ids.OfRecord()};
  ASSERT_EQ(seen.size(), 3u);
  for (int64_t i = 0; i < 20000; ++i) {
    EXPECT_TRUE(seen.insert(ids.OfEvent(i + 1)).second);
    EXPECT_TRUE(seen.insert(ids.OfEvent(std::numeric_limits<int64_t>::max() - i)).second);
    EXPECT_TRUE(seen.insert(ids.OfCarrier(static_cast<uint64_t>(i))).second);
  }
}

TEST(SpanIds, EveryBitOfATraceIdChangesFromRankToRank) {
  std::array<int, 128> ones{};
  constexpr int kRanks = 1000;
  for (int rank = 0; rank < kRanks; ++rank) {
    ProcessKey key = Key();
    key.rank = rank;
    const std::string trace = Trace(key);
    for (size_t bit = 0; bit < ones.size(); ++bit) ones[bit] += trace[bit / 8] >> bit % 8 & 1;
  }
  for (const int count : ones) {
    EXPECT_GT(count, kRanks * 2 / 5);
    EXPECT_LT(count, kRanks * 3 / 5);
  }
}

}  // namespace
}  // namespace ferret::otlp
