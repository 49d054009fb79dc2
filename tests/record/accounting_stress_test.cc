// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// attempts = delivered + lost, for every thread, whatever the number of threads, the size of the pool, the policy and
// the state of the drain; and what is delivered is whole and in order.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

constexpr int kDepths = 6;
constexpr const char* kNames[kDepths] = {"depth 0", "depth 1", "depth 2", "depth 3", "depth 4", "depth 5"};
Site g_sites[kDepths] = {{kNames[0], RecordType::kOpBegin, 0}, {kNames[1], RecordType::kOpBegin, 0},
                         {kNames[2], RecordType::kOpBegin, 0}, {kNames[3], RecordType::kOpBegin, 0},
                         {kNames[4], RecordType::kOpBegin, 0}, {kNames[5], RecordType::kOpBegin, 0}};

// kStuck: the drain hangs in its sink, as it would with an exporter that blocks, until every thread is half through.
enum class DrainIs { kRunning, kStopped, kStuck };

class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

struct Worker {
  uint32_t thread = 0;
  int64_t attempts = 0;
  uint64_t unreported = 0;
  std::minstd_rand random;

  // One scope with what is inside of it; its number in the thread travels as sequence number.
  void Nest(int depth) {
    const Op op = ForwardOp(attempts++);
    if (depth % 2 == 0) {
      const OpScope scope(g_sites[depth], op);
      Inside(depth);
    } else {
      const OpScope scope(kNames[depth], op);
      Inside(depth);
    }
  }
  void Inside(int depth) {
    const auto choice = random() % 4;
    if (choice == 0) Counter("number", static_cast<double>(attempts++));
    if (choice >= 2 && depth + 1 < kDepths) Nest(depth + 1);
  }
};

// Checks what comes out against what went in, on the drain thread.
class Checker {
 public:
  void See(const FunctionEvent& event) {
    int depth = 0;
    while (depth < kDepths && event.name != kNames[depth]) ++depth;
    if (depth == kDepths || event.end_ns < event.start_ns || event.self_ns < 0) ++corrupt;
    int64_t& last = last_[{event.thread, depth}];
    // Numbers from 0 in the order of begins; `last` is one more, so that a fresh entry is below all.
    if (event.sequence_nr < last) ++out_of_order;
    last = event.sequence_nr + 1;
  }
  void See(const InstantEvent& instant) {
    if (instant.kind != InstantEvent::Kind::kCounter) return;
    int64_t& last = last_[{instant.thread, -1}];
    if (instant.name != "number") ++corrupt;
    if (static_cast<int64_t>(instant.value) < last) ++out_of_order;
    last = static_cast<int64_t>(instant.value) + 1;
  }
  uint64_t corrupt = 0;
  uint64_t out_of_order = 0;

 private:
  std::map<std::pair<uint32_t, int>, int64_t> last_;
};

struct Case {
  int threads;
  uint32_t chunks;
  OverflowPolicy policy;
  DrainIs drain;
  bool cycle_counter;
};

LossReason ReasonOf(OverflowPolicy policy) {
  return policy == OverflowPolicy::kBlock  ? LossReason::kBlockTimeout
         : policy == OverflowPolicy::kGrow ? LossReason::kMemoryCap
                                           : LossReason::kPoolExhausted;
}

void RunCase(const Case& c) {
  const int64_t attempts_each = kUnderTsan ? 600 : 12'000;
  Sizes sizes;
  sizes.policy = c.policy;
  sizes.chunks = c.policy == OverflowPolicy::kGrow ? (c.chunks + 1) / 2 : c.chunks;
  sizes.max_chunks = c.chunks;
  sizes.block_limit_ns = 200'000;
  Recorder* const recorder = NewRecorder(sizes);
  ASSERT_NE(recorder, nullptr);

  Gate start, unstick;
  std::atomic<int> halfway{0};
  Checker checker;
  CountingSink sink;
  sink.on_event = [&](const FunctionEvent& event) { checker.See(event); };
  sink.on_instant = [&](const InstantEvent& instant) { checker.See(instant); };
  if (c.drain == DrainIs::kStuck) sink.on_push = [&] { unstick.Wait(); };

  TestSession session(recorder, &sink, c.cycle_counter);
  std::vector<Worker> workers(static_cast<size_t>(c.threads));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back([&, i] {
      Worker& worker = workers[i];
      worker.random.seed(static_cast<unsigned>(i + 1));
      start.Wait();
      while (worker.attempts < attempts_each / 2) worker.Nest(0);
      if (++halfway == c.threads) unstick.Open();
      while (worker.attempts < attempts_each) worker.Nest(0);
      worker.thread = ThreadId();
      worker.unreported = CurrentState()->unreported;
    });
  }
  if (c.drain != DrainIs::kStopped) session.StartDrain();
  start.Open();
  for (std::thread& thread : threads) thread.join();
  const DrainStats stats = session.Stop();

  uint64_t lost_in_all = 0;
  for (const Worker& worker : workers) {
    const Delivered delivered = sink.Of(worker.thread);
    const LossCounts lost = LostBy(worker.thread);
    const LossReason reason = ReasonOf(c.policy);
    EXPECT_EQ(static_cast<uint64_t>(worker.attempts), delivered.total() + lost.total());
    EXPECT_EQ(lost[reason], lost.total()) << "the policy's reason is the only one";
    EXPECT_EQ(delivered.loss_records[reason] + worker.unreported, lost[reason])
        << "every loss that was followed by a chunk is told in a loss record";
    EXPECT_EQ(delivered.truncated, 0u) << "losses are of whole scopes";
    lost_in_all += lost.total();
  }
  EXPECT_EQ(checker.corrupt, 0u);
  EXPECT_EQ(checker.out_of_order, 0u);
  EXPECT_EQ(stats.late, 0u);
  const uint64_t bytes_at_least = static_cast<uint64_t>(c.threads) * static_cast<uint64_t>(attempts_each) * kBeginBytes;
  if (c.drain == DrainIs::kStopped && bytes_at_least > uint64_t{c.chunks} * kMinChunkBytes) {
    EXPECT_GT(lost_in_all, 0u) << "the pool was meant to be too small";
  }
}

class Accounting : public ::testing::TestWithParam<std::tuple<OverflowPolicy, DrainIs>> {};

TEST_P(Accounting, IsExactForEachThreadWhateverTheNumberOfThreadsAndChunks) {
  const auto [policy, drain] = GetParam();
  for (const int threads : {1, 2, 5, 16}) {
    for (const uint32_t chunks : {2u, 7u, 64u, 1024u}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, " << chunks << " chunks");
      RunCase({threads, chunks, policy, drain, true});
      if (HasFailure()) return;
    }
  }
}

TEST_P(Accounting, IsExactWithTheMonotonicClock) {
  const auto [policy, drain] = GetParam();
  for (const uint32_t chunks : {2u, 16u, 256u}) RunCase({4, chunks, policy, drain, false});
}

std::string CaseName(const ::testing::TestParamInfo<Accounting::ParamType>& tested) {
  const char* const policies[] = {"Drop", "Block", "Grow"};
  const char* const drains[] = {"DrainRunning", "DrainStopped", "DrainStuck"};
  return std::string(policies[static_cast<int>(std::get<0>(tested.param))]) +
         drains[static_cast<int>(std::get<1>(tested.param))];
}

INSTANTIATE_TEST_SUITE_P(Policies, Accounting,
                         ::testing::Combine(::testing::Values(OverflowPolicy::kDrop, OverflowPolicy::kBlock,
                                                              OverflowPolicy::kGrow),
                                            ::testing::Values(DrainIs::kRunning, DrainIs::kStopped, DrainIs::kStuck)),
                         CaseName);

}  // namespace
}  // namespace ferret::internal
