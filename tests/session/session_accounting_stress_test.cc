// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// attempts = delivered + lost, exactly and for each thread, through a whole session and whatever goes wrong in it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/record/name_table.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kScopes = 3000, kShortThreads = 5'000;
#else
constexpr int kScopes = 20'000, kShortThreads = 100'000;
#endif

// Everything that counts, in a nest; returns how many attempts that were.
uint64_t RecordSome(int number) {
  FERRET_SCOPE("outer");
  Annotation annotation("annotation");
  { OpScope op("op", ForwardOp(number)); }
  { FERRET_OP_SCOPE("backward", BackwardOp(number, 1)); }
  Instant("instant");
  Counter("counter", number);
  Step();
  const AsyncScope request = BeginAsync("request");
  EndAsync(request);
  return 7;
}

// Records from several threads into a pool of that size, and compares.
void ExpectExactWith(const Options& options, int thread_count) {
  auto collector = std::make_shared<MemoryCollector>(100'000'000);
  ASSERT_TRUE(StartSession(options, Exporters().Memory(collector).Take()).ok());
  std::mutex mutex;
  std::map<uint32_t, uint64_t> attempts;
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      uint64_t count = 0;
      for (int n = 0; n < kScopes / thread_count; ++n) count += RecordSome(n);
      std::lock_guard<std::mutex> lock(mutex);
      attempts[ThreadId()] = count;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Stop60().ok());
  ExpectExact(attempts, collector->Take());
}

TEST(SessionAccounting, IsExactWithPoolsOfEverySize) {
  for (uint64_t chunks : {2, 3, 5, 16, 128, 1024}) {
    SCOPED_TRACE(std::to_string(chunks) + " chunks");
    ExpectExactWith(TestOptions(chunks), 4);
  }
}

TEST(SessionAccounting, IsExactWhereThreadsWaitForChunks) {
  Options options = TestOptions(4);
  options.overflow = Options::Overflow::kBlock;
  options.block_limit = absl::Milliseconds(1);
  ExpectExactWith(options, 6);
}

TEST(SessionAccounting, IsExactWhereThePoolGrows) {
  Options options = TestOptions(2);
  options.overflow = Options::Overflow::kGrow;
  options.buffer_cap_bytes = 8 * Options::kChunkBytes;
  ExpectExactWith(options, 12);
}

TEST(SessionAccounting, NamesTheReasonOfThePolicy) {
  const auto lose = [](Options options) {
    ExpectExactWith(options, 16);
    return Losses();
  };
  Options options = TestOptions(2);
  LossCounts losses = lose(options);
  EXPECT_GT(losses.total(), 0u);
  EXPECT_EQ(losses.total(), losses[LossReason::kPoolExhausted]);
  options.overflow = Options::Overflow::kBlock;
  options.block_limit = absl::Milliseconds(1);
  losses = lose(options);
  EXPECT_EQ(losses.total(), losses[LossReason::kBlockTimeout]);
  options.overflow = Options::Overflow::kGrow;
  options.buffer_cap_bytes = 3 * Options::kChunkBytes;
  losses = lose(options);
  EXPECT_GT(losses.total(), 0u);
  EXPECT_EQ(losses.total(), losses[LossReason::kMemoryCap]);
}

// The one that hangs takes its batches and gives nothing back; its own losses are its own.
TEST(SessionAccounting, IsExactBesideAnExporterThatBlocksForEver) {
  for (uint64_t chunks : {2, 1024}) {
    SCOPED_TRACE(std::to_string(chunks) + " chunks");
    auto latch = std::make_shared<Latch>();
    auto collector = std::make_shared<MemoryCollector>(100'000'000);
    Exporters exporters;
    exporters.With("blocks", BlockingExporter(latch)).Memory(collector);
    Options options = TestOptions(chunks);
    auto run = SessionRun::Start(options, exporters.Take());
    ASSERT_TRUE(run.ok());
    std::atomic<uint64_t> attempts{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < kScopes / 3; ++n) attempts += RecordSome(n);
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Everything is built and waits at the exporters, before a deadline that one of them will miss.
    EXPECT_FALSE((*run)->Flush(absl::Now() + absl::Milliseconds(100)).ok());
    const absl::Time start = absl::Now();
    EXPECT_EQ((*run)->Stop(absl::Now() + absl::Seconds(10)).code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_LT(absl::Now() - start, absl::Seconds(20));
    ASSERT_FALSE((*run)->abandoned()) << "only the exporter hangs";
    const uint64_t lost = (*run)->Losses().total();
    const auto outputs = (*run)->Outputs();
    for (const SessionRun::Output& output : outputs) {
      EXPECT_EQ(output.counts.pushed + lost, attempts) << output.name;
      EXPECT_EQ(output.counts.exported + output.counts.dropped + output.counts.failed, output.counts.pushed);
      EXPECT_EQ(output.counts.waiting, 0u);
    }
    EXPECT_EQ(outputs[0].counts.exported, 0u);
    EXPECT_EQ(outputs[1].counts.exported, outputs[1].counts.pushed);
    latch->Open();
  }
}

TEST(SessionAccounting, IsExactForVeryManyShortThreads) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(64), Exporters().Memory(collector).Take()).ok());
  std::vector<std::thread> makers;
  std::mutex mutex;
  std::map<uint32_t, uint64_t> attempts;
  for (int maker = 0; maker < 2; ++maker) {
    makers.emplace_back([&] {
      std::map<uint32_t, uint64_t> mine;
      for (int i = 0; i < kShortThreads / 2; ++i) {
        std::thread([&] {
          { FERRET_SCOPE("short"); }
          mine[ThreadId()] = 1;
        }).join();
      }
      std::lock_guard<std::mutex> lock(mutex);
      attempts.insert(mine.begin(), mine.end());
    });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_TRUE(Stop60().ok());
  EXPECT_EQ(attempts.size(), static_cast<size_t>(kShortThreads)) << "ids are not used again";
  ExpectExact(attempts, collector->Take());
}

// A thread that is in the middle of a record when recording stops. What does not arrive before that is in the chunk that
// the thread held; the next recording finds and counts it.
TEST(SessionAccounting, CountsInTheNextSessionWhatCameTooLateForItsOwn) {
  uint64_t late = 0, recorded_beside_stop = 0;
  for (int round = 0; round < 30; ++round) {
    auto collector = std::make_shared<MemoryCollector>(100'000'000);
    ASSERT_TRUE(StartSession(TestOptions(32), Exporters().Memory(collector).Take()).ok());
    std::atomic<int> running{0};
    std::atomic<uint64_t> recorded{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        ++running;
        const uint32_t name = internal::NameTable::Global().Intern("racing");
        const uint64_t header =
            internal::RecordHeader(internal::RecordType::kScopeBegin, internal::kBeginBytes, internal::kNoFlags, name);
        uint64_t count = 0;
        while (const uint32_t epoch = internal::CurrentEpoch()) {
          const internal::ScopeEnd end = internal::BeginScope(header, epoch);
          count += static_cast<bool>(end);
          internal::EndScope(end);
        }
        recorded += count;
      });
    }
    while (running < 3) std::this_thread::yield();
    ASSERT_TRUE(Stop60().ok());
    for (std::thread& thread : threads) thread.join();
    const CollectedTrace trace = collector->Take();
    recorded_beside_stop += recorded;

    auto next = std::make_shared<MemoryCollector>();
    ASSERT_TRUE(StartSession(TestOptions(32), Exporters().Memory(next).Take()).ok());
    ASSERT_TRUE(Stop60().ok());
    ASSERT_EQ(next->Take().events.size(), 0u);
    ASSERT_EQ(Losses().total(), Losses()[LossReason::kStoppedRace]);
    ASSERT_EQ(trace.events.size() + Losses().total(), recorded);
    late += Losses().total();
  }
  EXPECT_GT(recorded_beside_stop, 0u);
  RecordProperty("late", std::to_string(late));
}

}  // namespace
}  // namespace ferret
