// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrows from forward to backward ops do not depend on when the drain looks at which thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/drain/random_training.h"

namespace ferret::internal {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kCases = 600;
#else
constexpr uint32_t kCases = 5000;
#endif

// Shows a drain the streams of a training, a bit more of each from pass to pass.
class Schedule {
 public:
  Schedule(const Training& training, uint32_t seed, DrainHarness* harness)
      : training_(training), random_(seed), harness_(harness), published_(training.streams.size()),
        handles_(training.ops.size()) {
    const uint32_t cuts[] = {0, 1, 10, 30, 60};
    cut_percent_ = cuts[random_() % 5];
    lag_percent_ = random_() % 2 == 0 ? 0 : 50;
  }

  void Run() {
    const uint32_t passes = random_() % 40;
    std::vector<uint64_t> times;
    for (uint32_t i = 0; i < passes; ++i) times.push_back(100 + random_() % (training_.end - 100));
    std::sort(times.begin(), times.end());
    for (uint64_t now : times) {
      for (uint32_t thread = 1; thread <= training_.streams.size(); ++thread) Publish(thread, PublishedAt(thread, now));
      harness_->Pass(now);
    }
    for (uint32_t thread = 1; thread <= training_.streams.size(); ++thread) Publish(thread, SIZE_MAX);
    harness_->Finish(training_.end);
  }

 private:
  // How many records the drain sees in a pass that began at `now`: all from before; perhaps some that were written while
  // it was at other threads; or not the last one, read from the clock but not published when the drain came by.
  size_t PublishedAt(uint32_t thread, uint64_t now) {
    const std::vector<TrainingRecord>& stream = training_.streams[thread - 1];
    size_t count = 0;
    while (count < stream.size() && stream[count].ticks < now) ++count;
    if (count > published_[thread - 1] && random_() % 100 < lag_percent_ && MayLag(thread, count - 1, now)) {
      return count - 1;
    }
    return std::min<size_t>(stream.size(), count + (random_() % 3 == 0 ? random_() % 12 : 0));
  }

  // Whoever acts upon an op does so after the op's thread went on. So while an end is not published, no other thread
  // has used or made what that op makes or uses.
  bool MayLag(uint32_t thread, size_t record, uint64_t now) const {
    const uint64_t ticks = training_.streams[thread - 1][record].ticks;
    for (const TrainingOp& late : training_.ops) {
      if (late.thread != thread || late.end != ticks || late.sequence_nr < 0) continue;
      for (const TrainingOp& other : training_.ops) {
        const bool in_between = other.thread != thread && other.end >= ticks && other.end < now;
        if (in_between && other.sequence_nr == late.sequence_nr) return false;
      }
    }
    return true;
  }

  void Publish(uint32_t thread, size_t until) {
    ThreadWriter& writer = harness_->thread(thread);
    const std::vector<TrainingRecord>& stream = training_.streams[thread - 1];
    size_t& at = published_[thread - 1];
    for (; at < std::min(until, stream.size()); ++at) {
      if (random_() % 100 < cut_percent_) writer.CutChunk(random_() % 2 == 0);
      Write(writer, stream[at]);
    }
    if (random_() % 100 < cut_percent_ && at < stream.size()) writer.CutChunk(random_() % 2 == 0);
  }

  void Write(ThreadWriter& writer, const TrainingRecord& record) {
    const uint32_t name = static_cast<uint32_t>(record.op);
    switch (record.kind) {
      case TrainingRecord::kBegin: {
        const uint8_t flags = training_.ops[record.op].flags;
        const bool is_op = record.fields.sequence_nr >= 0 || record.fields.scope != RecordScope::kFunction;
        handles_[record.op] = is_op ? writer.BeginOp(record.ticks, name, record.fields, flags)
                                    : writer.Begin(record.ticks, name, flags);
        return;
      }
      case TrainingRecord::kEnd:
        writer.End(record.ticks, handles_[record.op]);
        return;
      case TrainingRecord::kExit:
        writer.Exit(record.ticks);
    }
  }

  const Training& training_;
  std::mt19937 random_;
  DrainHarness* const harness_;
  std::vector<size_t> published_;
  std::vector<uint32_t> handles_;
  uint32_t cut_percent_ = 0;
  uint32_t lag_percent_ = 0;
};

void ExpectSameOps(const Training& training, const CollectingSink& sink) {
  ASSERT_EQ(sink.events.size(), training.ops.size());
  std::vector<int64_t> ids(training.ops.size());
  for (const FunctionEvent& event : sink.events) ids[event.name_id] = event.id;
  std::set<uint32_t> seen;
  for (const FunctionEvent& event : sink.events) {
    ASSERT_TRUE(seen.insert(event.name_id).second);
    const TrainingOp& op = training.ops[event.name_id];
    ASSERT_EQ(event.thread, op.thread);
    ASSERT_EQ(event.start_ns, static_cast<int64_t>(op.start));
    ASSERT_EQ(event.end_ns, static_cast<int64_t>(op.end));
    ASSERT_EQ(event.sequence_nr, op.sequence_nr);
    ASSERT_EQ(event.fwd_thread, op.fwd_thread);
    ASSERT_EQ(event.is_backward(), op.fwd_thread > 0);
    ASSERT_EQ(event.scope, op.scope);
    ASSERT_EQ(event.parent_id, op.parent == 0 ? 0 : ids[op.parent - 1]);
    ASSERT_EQ(event.is_truncated, op.truncated);
  }
}

void ExpectSameLinks(const Training& training, const DrainHarness& harness) {
  const CollectingSink& sink = harness.sink;
  size_t unmatched = 0;
  const auto expected = LinksOf(training, &unmatched);
  std::set<std::pair<size_t, size_t>> links;
  std::set<int64_t> flows;
  for (const ForwardBackwardLink& link : sink.links) {
    const FunctionEvent* const forward = sink.ById(link.forward_id);
    const FunctionEvent* const backward = sink.ById(link.backward_id);
    ASSERT_TRUE(forward != nullptr && backward != nullptr);
    ASSERT_EQ(link.forward_start_ns, forward->start_ns);
    ASSERT_EQ(link.backward_start_ns, backward->start_ns);
    ASSERT_EQ(link.forward_os_tid, forward->device_resource_id);
    ASSERT_EQ(link.backward_os_tid, backward->device_resource_id);
    ASSERT_EQ(backward->forward_id, forward->id);
    links.emplace(forward->name_id, backward->name_id);
    flows.insert(link.flow_id);
  }
  for (const auto& [forward, backward] : expected) {
    ASSERT_TRUE(links.count({forward, backward}) != 0) << "no arrow from op " << forward << " to op " << backward;
  }
  ASSERT_EQ(links, expected);
  ASSERT_EQ(flows.size(), sink.links.size());
  ASSERT_TRUE(flows.empty() || (*flows.begin() == 1 && *flows.rbegin() == static_cast<int64_t>(flows.size())));
  for (const FunctionEvent& event : sink.events) {
    const bool linked = std::any_of(expected.begin(), expected.end(),
                                    [&](const auto& link) { return link.second == event.name_id; });
    ASSERT_EQ(event.forward_id != 0, linked);
  }
  ASSERT_EQ(harness.builder().linker().made(), expected.size());
  ASSERT_EQ(harness.builder().linker().unmatched(), unmatched);
  ASSERT_EQ(harness.builder().linker().waiting(), 0u);
  ASSERT_EQ(harness.builder().built(), training.ops.size());
}

TEST(Linking, ArrowsAreThoseOfOneLookAtAllOpsWhateverTheOrderInWhichThreadsAreDrained) {
  size_t links = 0, backward = 0;
  for (uint32_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Training training = TrainingGenerator(seed).Run();
    EventBuilder::Config config;
    config.link_table_entries = 1024;
    config.batch_events = 1 + seed % 50;
    DrainHarness harness(static_cast<uint32_t>(training.streams.size()), config, 700);
    Schedule(training, seed ^ 0x5bd1e995, &harness).Run();
    ExpectSameOps(training, harness.sink);
    ExpectSameLinks(training, harness);
    if (HasFatalFailure()) return;
    links += harness.sink.links.size();
    for (const TrainingOp& op : training.ops) backward += op.fwd_thread > 0;
  }
  // The programs are worth the name: many arrows, and many backward ops that get none.
  EXPECT_GT(links, 4 * kCases);
  EXPECT_GT(backward, 2 * links);
}

}  // namespace
}  // namespace ferret::internal
