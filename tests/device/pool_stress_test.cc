// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A million pairs out of one pool: it neither grows with them nor loses any, and nobody but the device thread fills it.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/device/device_kit.h"

namespace ferret::internal {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kPairs = 100'000;
#else
constexpr uint64_t kPairs = 1'000'000;
#endif
constexpr int kThreads = 2;

struct Recording {
  int tid = 0;
  uint64_t asked = 0;
  uint64_t lost = 0;
  uint64_t given_up = 0;
};

TEST(PoolStress, AMillionPairsNeedNoMoreEventsThanThereAreInFlight) {
  DeviceKit kit;
  std::array<CuStream, 8> streams;
  for (CuStream& stream : streams) stream = kit.NewStream();
  kit.Prepare(streams[0]);
  CudaContext& context = kit.timer.context(1);
  std::mutex mutex;
  std::vector<SubmittedPair> inbox;
  std::atomic<uint64_t> in_flight{0};
  std::atomic<int> running{kThreads};
  std::array<Recording, kThreads> recordings;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Recording& mine = recordings[i];
      mine.tid = static_cast<int>(syscall(SYS_gettid));
      std::mt19937 random(i);
      std::vector<SubmittedPair> pairs;
      while (mine.asked < kPairs / kThreads) {
        ++mine.asked;
        const CuStream stream = streams[random() % streams.size()];
        CudaTimer::Begun begun;
        const int64_t begin_ns = kit.fake.NowNs();
        kit.fake.AdvanceNs(500);
        if (kit.timer.Begin(stream, i + 1, &begun)) {
          ++mine.lost;
          std::this_thread::yield();
          continue;
        }
        // Some scopes find no room in their buffer.
        if (random() % 64 == 0) {
          kit.timer.GiveUp(begun.pair);
          ++mine.given_up;
          continue;
        }
        ASSERT_EQ(kit.timer.End(stream, begun.pair), std::nullopt);
        pairs.push_back({begun.pair, begun.place, begin_ns, kit.fake.NowNs(), 1});
        if (pairs.size() < 16) continue;
        std::lock_guard<std::mutex> lock(mutex);
        inbox.insert(inbox.end(), pairs.begin(), pairs.end());
        pairs.clear();
      }
      std::lock_guard<std::mutex> lock(mutex);
      inbox.insert(inbox.end(), pairs.begin(), pairs.end());
      --running;
    });
  }
  uint64_t timed = 0, failed = 0;
  const auto pass = [&](bool settle) {
    std::vector<SubmittedPair> pairs;
    {
      std::lock_guard<std::mutex> lock(mutex);
      pairs.swap(inbox);
    }
    for (const SubmittedPair& pair : pairs) kit.tracker->Submit(pair);
    kit.timer.Maintain();
    DeviceOutput output;
    kit.tracker->Pass(settle, &output);
    for (const PairResult& result : output.results) result.timed ? ++timed : ++failed;
  };
  while (running != 0) pass(false);
  for (std::thread& thread : threads) thread.join();
  pass(true);
  for (int i = 0; i < 1'000 && (!kit.tracker->idle() || context.free_pairs() != context.created()); ++i) {
    kit.fake.AdvanceNs(1'000'000);
    pass(true);
  }

  Recording all;
  for (const Recording& one : recordings) {
    all.asked += one.asked;
    all.lost += one.lost;
    all.given_up += one.given_up;
    EXPECT_EQ(kit.fake.EventsCreatedBy(one.tid), 0u);
  }
  EXPECT_EQ(all.asked, kPairs);
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(timed + all.lost + all.given_up, kPairs);
  EXPECT_GT(timed, kPairs / 10);
  EXPECT_TRUE(kit.tracker->idle());
  EXPECT_EQ(context.free_pairs(), context.created()) << "leaked";
  EXPECT_LE(context.created(), CudaContext::kMostPairs);
  const fake_cuda::Counts used = kit.fake.GetCounts();
  EXPECT_LE(used.events_created, uint64_t{2} * context.created() + AnchorLine::kMostAnchors + 8);
  EXPECT_EQ(used.events_alive, used.events_created);
  EXPECT_EQ(used.events_destroyed, 0u);
  // Nobody reads the begin of a pair that was given up, nor a try of an anchor that another one was better than.
  const PairTracker::Counts tracked = kit.tracker->counts();
  EXPECT_LE(used.rerecords_of_unread, tracked.anchor_tries - tracked.anchors + all.given_up);
  EXPECT_EQ(used.elapsed_on_pending, 0u);
}

TEST(PoolStress, WhoeverSeesThatThereArePairsFindsMany) {
  constexpr int kScopes = 10;
  for (int round = 0; round < 2'000; ++round) {
    DeviceKit kit;
    const CuStream stream = kit.NewStream();
    bool has_pairs = false;
    ASSERT_EQ(kit.timer.Look(stream, 1, &has_pairs), std::nullopt);
    ASSERT_FALSE(has_pairs);
    std::atomic<bool> looking{false};
    std::atomic<int> taken{0};
    std::thread recording([&] {
      bool seen = false;
      looking = true;
      while (!seen) ASSERT_EQ(kit.timer.Look(stream, 1, &seen), std::nullopt);
      for (int i = 0; i < kScopes; ++i) {
        CudaTimer::Begun begun;
        taken += !kit.timer.Begin(stream, 1, &begun);
      }
    });
    while (!looking) std::this_thread::yield();
    kit.timer.Maintain();
    recording.join();
    ASSERT_EQ(taken, kScopes) << "round " << round;
  }
}

}  // namespace
}  // namespace ferret::internal
