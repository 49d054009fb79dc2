// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is promised when threads record faster than anything can keep up with, for each policy: every scope is delivered or
// counted, memory stays within its bounds, and no thread waits longer than the bound that was asked for.
//
// FERRET_TEST_SECONDS says for how long; by default it is short. Prints how long a scope took the threads that recorded.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/overload/overload_run.h"
#include "tests/record/recording.h"
#include "tests/tools/program.h"

namespace ferret {
namespace {

constexpr int kThreads = 3;
constexpr uint64_t kBuffer = uint64_t{16} << 20;
constexpr uint64_t kCap = uint64_t{32} << 20;
constexpr uint64_t kQueue = uint64_t{8} << 20;

struct Case {
  const char* name;
  Options::Overflow overflow;
  LossReason reason;
  bool in_crash_file;
};

absl::Duration HowLong() {
  const char* const seconds = getenv("FERRET_TEST_SECONDS");
  return seconds != nullptr ? absl::Seconds(atoi(seconds)) : absl::Seconds(2);
}

class Overload : public testing::TestWithParam<Case> {
 protected:
  Options OptionsOf(const Case& c) {
    Options options;
    options.buffer_bytes = kBuffer;
    options.buffer_cap_bytes = kCap;
    options.exporter_queue_bytes = kQueue;
    options.link_table_entries = Options::kMinLinkTableEntries;
    options.overflow = c.overflow;
    if (c.in_crash_file) options.crash_dir = folder_.path();
    return options;
  }
  TemporaryFolder folder_;
};

void ExpectExactSums(const OverloadResult& run, LossReason reason) {
  uint64_t attempts = 0, pushed = 0, unseen = 0;
  for (const auto& [thread, attempted] : run.attempts) {
    const auto lost = run.lost.find(thread);
    const LossCounts losses = lost == run.lost.end() ? LossCounts() : lost->second;
    EXPECT_EQ(losses[reason], losses.total()) << "the policy's reason is the only one";
    ASSERT_GE(attempted, losses.total());
    const uint64_t built = attempted - losses.total();
    const auto seen = run.seen.find(thread);
    const uint64_t delivered = seen == run.seen.end() ? 0 : seen->second;
    EXPECT_LE(delivered, built);
    attempts += attempted;
    pushed += built;
    unseen += built - delivered;
  }
  EXPECT_EQ(run.lost.count(0), 0u) << "every loss is some thread's";
  EXPECT_EQ(run.scopes.count(), attempts);
  for (const ExporterCounts& counts : {run.all, run.slow}) {
    EXPECT_EQ(counts.pushed, pushed) << "attempts = built + lost, for each thread";
    EXPECT_EQ(counts.exported + counts.dropped, counts.pushed);
    EXPECT_EQ(counts.failed + counts.waiting, 0u);
  }
  EXPECT_EQ(unseen, run.all.dropped);
}

void Print(const Case& c, const OverloadResult& run) {
  const auto ns = [&](double share) { return static_cast<double>(run.scopes.Quantile(share)) * run.ns_per_tick; };
  uint64_t lost = 0;
  for (const auto& entry : run.lost) lost += entry.second.total();
  std::printf("FIGURE: overload: %s, %d threads: scope p50 %.0f ns, p99 %.0f ns, p99.9 %.0f ns, max %.3f ms; %llu attempted = %llu built + %llu lost; "
              "slow exporter: %llu exported + %llu dropped, %llu of %llu batches in time; longest wait asked for %.3f ms; "
              "memory %lld MiB before, %lld warm, %lld at most\n",
              c.name, kThreads, ns(0.5), ns(0.99), ns(0.999), ns(1) / 1e6, static_cast<unsigned long long>(run.scopes.count()),
              static_cast<unsigned long long>(run.slow.pushed), static_cast<unsigned long long>(lost),
              static_cast<unsigned long long>(run.slow.exported), static_cast<unsigned long long>(run.slow.dropped),
              static_cast<unsigned long long>(run.slow_batches), static_cast<unsigned long long>(run.batches),
              static_cast<double>(run.longest_nap_ns) / 1e6, static_cast<long long>(run.resident_before >> 20),
              static_cast<long long>(run.resident_warm >> 20), static_cast<long long>(run.resident_most >> 20));
}

TEST_P(Overload, LosesNothingUncountedAndKeepsToItsBounds) {
  const Case& c = GetParam();
  const Options options = OptionsOf(c);
  const OverloadResult run = RunOverloaded(options, kThreads, HowLong());
  Print(c, run);
  ExpectExactSums(run, c.reason);

  EXPECT_GT(run.slow.exported, 0u);
  EXPECT_LE(run.slow_batches, run.batches / 100);
  EXPECT_GT(run.slow.dropped, run.slow.pushed / 2) << "it was meant to be too slow";

  const bool waits = c.overflow == Options::Overflow::kBlock;
  EXPECT_LE(run.longest_nap_ns, waits ? absl::ToInt64Nanoseconds(options.block_limit) : 0);

  // Chunks, two queues, what both have in hand and what is kept for use, names, stacks.
  const uint64_t chunks = c.overflow == Options::Overflow::kGrow ? kCap : kBuffer;
  EXPECT_LE(run.resident_most - run.resident_before, static_cast<int64_t>(chunks + 2 * kQueue + (uint64_t{24} << 20)));
  // In a short run a busy machine may not have touched everything after a third.
  if (HowLong() >= absl::Seconds(10)) {
    EXPECT_LE(run.resident_most - run.resident_warm, int64_t{4} << 20) << "flat";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Overload,
    testing::Values(Case{"drop", Options::Overflow::kDrop, LossReason::kPoolExhausted, false},
                    Case{"block", Options::Overflow::kBlock, LossReason::kBlockTimeout, false},
                    Case{"grow", Options::Overflow::kGrow, LossReason::kMemoryCap, false},
                    // Chunks wait there until every exporter has what is in them. This one takes another batch only when a
                    // hundred more were produced, so that nothing goes on until it is given up on: that is counted, too.
                    Case{"drop_in_crash_file", Options::Overflow::kDrop, LossReason::kPoolExhausted, true}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferret
