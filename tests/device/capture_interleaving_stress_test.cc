// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Captures of the program's beside timed scopes and polling: neither may disturb the other. Captures break in the field
// because some thread of a library asks for an event while another one captures.

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/device/device_kit.h"

namespace ferret::internal {
namespace {

constexpr int kThreads = 4, kOperations = 25'000;  // 10^5 in all

struct Streams {
  std::vector<CuStream> shared;     // that nobody captures
  std::vector<CuStream> capturing;  // one for each thread: a capture is one thread's at a time
};

// Counted as DeviceCounter does.
struct Counts {
  uint64_t asked = 0;
  uint64_t lost = 0;
  std::array<uint64_t, kDeviceLossCount> reasons{};
  void Lost(DeviceLoss reason) {
    ++lost;
    ++reasons[static_cast<size_t>(reason)];
  }
};

class Program {
 public:
  Program(DeviceKit& kit, const Streams& streams, uint32_t number, std::function<void(const SubmittedPair&)> submit,
          std::function<void()> wait_for_pass)
      : kit_(kit),
        streams_(streams),
        number_(number),
        random_(number),
        submit_(std::move(submit)),
        wait_for_pass_(std::move(wait_for_pass)) {}

  Counts Run() {
    kit_.fake.MakeCurrent(kit_.context());
    for (int i = 0; i < kOperations; ++i) Step();
    if (capturing_) {
      EXPECT_EQ(kit_.fake.EndCapture(Own()), 0);
    }
    return counts_;
  }

 private:
  CuStream Own() const { return streams_.capturing[number_]; }

  void Step() {
    switch (random_() % 8) {
      case 0:
        Capture();
        break;
      case 1:
        Time(Own());
        break;
      case 2:
        Time(reinterpret_cast<CuStream>(uintptr_t{1}));
        break;
      case 3:
        Time(reinterpret_cast<CuStream>(uintptr_t{2}));
        break;
      default:
        Time(streams_.shared[random_() % streams_.shared.size()]);
    }
    kit_.fake.AdvanceNs(1'000);
  }

  void Capture() {
    if (capturing_) {
      EXPECT_EQ(kit_.fake.EndCapture(Own()), 0) << "a capture that somebody broke";
      capturing_ = false;
    } else {
      capturing_ = kit_.fake.BeginCapture(Own(), static_cast<int>(random_() % 3)) == 0;
    }
  }

  void Time(CuStream stream) {
    ++counts_.asked;
    SubmittedPair pair;
    pair.begin_ns = kit_.fake.NowNs();
    CudaTimer::Begun begun;
    if (const auto loss = kit_.timer.Begin(stream, number_ + 1, &begun)) {
      counts_.Lost(*loss);
      // Else the loop is over before the poller has had its turn.
      if (*loss == DeviceLoss::kPoolExhausted) wait_for_pass_();
      return;
    }
    if (random_() % 4 == 0) Capture();
    pair.end_ns = kit_.fake.NowNs();
    if (const auto loss = kit_.timer.End(stream, begun.pair)) {
      counts_.Lost(*loss);
      return;
    }
    pair.pair = begun.pair;
    pair.place = begun.place;
    submit_(pair);
  }

  DeviceKit& kit_;
  const Streams& streams_;
  const uint32_t number_;
  std::mt19937 random_;
  const std::function<void(const SubmittedPair&)> submit_;
  const std::function<void()> wait_for_pass_;
  Counts counts_;
  bool capturing_ = false;
};

// `flags`: of the streams that are captured. The legacy stream cannot be used while a blocking one captures.
void Interleave(unsigned flags) {
  DeviceKit kit;
  Streams streams;
  for (unsigned i = 0; i < 6; ++i) streams.shared.push_back(kit.NewStream(0, i % 2 == 0 ? kCuStreamNonBlocking : 0));
  for (int i = 0; i < kThreads; ++i) streams.capturing.push_back(kit.NewStream(0, flags));
  std::mutex mutex;
  std::vector<SubmittedPair> inbox;
  uint64_t token = 0;
  const auto submit = [&](const SubmittedPair& pair) {
    std::lock_guard<std::mutex> lock(mutex);
    inbox.push_back(pair);
    inbox.back().token = ++token;
  };
  std::atomic<uint64_t> passes{0};
  const auto wait_for_pass = [&passes] {
    for (const uint64_t before = passes; passes == before;) std::this_thread::yield();
  };
  const auto pass = [&] {
    std::vector<SubmittedPair> pairs;
    {
      std::lock_guard<std::mutex> lock(mutex);
      pairs.swap(inbox);
    }
    for (const SubmittedPair& pair : pairs) kit.tracker->Submit(pair);
    kit.Pass();
    ++passes;
  };
  std::vector<Counts> counts(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> running{kThreads};
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      counts[i] = Program(kit, streams, i, submit, wait_for_pass).Run();
      --running;
    });
  }
  while (running != 0) pass();
  for (std::thread& thread : threads) thread.join();
  pass();
  kit.Settle();
  kit.RunFor(1'000'000'000);

  Counts all;
  for (const Counts& one : counts) {
    all.asked += one.asked;
    all.lost += one.lost;
    for (size_t i = 0; i < kDeviceLossCount; ++i) all.reasons[i] += one.reasons[i];
  }
  uint64_t timed = 0;
  for (const auto& entry : kit.results) entry.second.timed ? ++timed : ++all.lost;
  EXPECT_GT(all.asked, 80'000u);
  EXPECT_GT(timed, 10'000u);
  EXPECT_GT(all.reasons[static_cast<size_t>(DeviceLoss::kCapture)], 1'000u);
  EXPECT_EQ(timed + all.lost, all.asked);
  const fake_cuda::Counts used = kit.fake.GetCounts();
  EXPECT_EQ(used.capture_violations, 0u);
  EXPECT_EQ(used.captures_invalidated, 0u);
  EXPECT_EQ(used.records_into_captures, 0u);
  EXPECT_EQ(used.elapsed_on_pending, 0u);
  EXPECT_EQ(used.uses_after_destroy, 0u);
  EXPECT_GT(used.events_created, 128u) << "no event was made beside captures";
  EXPECT_EQ(kit.timer.context(1).free_pairs(), kit.timer.context(1).created());
}

TEST(CaptureInterleaving, OfNonBlockingStreamsDisturbsNeitherCapturesNorTimes) { Interleave(kCuStreamNonBlocking); }

TEST(CaptureInterleaving, OneThreadsCaptureIsNotSpoiltByPollingInAnyMode) {
  DeviceKit kit;
  const CuStream own = kit.NewStream();
  const CuStream other = kit.NewStream(0, kCuStreamNonBlocking);
  kit.Prepare(own);
  std::mt19937 random(5);
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(kit.fake.BeginCapture(own, static_cast<int>(random() % 3)), 0);
    std::optional<DeviceLoss> legacy, captured, free;
    std::thread([&] {
      kit.fake.MakeCurrent(kit.context());
      legacy = kit.Time(reinterpret_cast<CuStream>(uintptr_t{1}), [] {});
      captured = kit.Time(own, [] {});
      free = kit.Time(other, [] {});
    }).join();
    kit.fake.AdvanceNs(1'000'000);
    std::thread([&] { kit.Pass(true); }).join();
    ASSERT_EQ(kit.fake.EndCapture(own), 0);
    ASSERT_EQ(legacy, DeviceLoss::kCapture);
    ASSERT_EQ(captured, DeviceLoss::kCapture);
    ASSERT_EQ(free, std::nullopt);
  }
  kit.Settle();
  EXPECT_EQ(kit.results.size(), 2'000u);
  EXPECT_EQ(kit.fake.GetCounts().capture_violations, 0u);
}

}  // namespace
}  // namespace ferret::internal
