// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whatever a receiver and a disk do, in whatever order: the counts add up exactly, at every moment and at the end, they
// agree with what the receiver itself counted, and nothing waits after Close.

#include <errno.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <thread>

#include "exporters/otlp/delivery/delivery.h"
#include "exporters/otlp/delivery/request_split.h"
#include "exporters/otlp/delivery/spill_format.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret::otlp {
namespace {

// Fails one write in so many. Never freed, as whatever a thread that was left behind may use.
class MoodyDisk final : public FileIo {
 public:
  static MoodyDisk* Create() {
    static auto* const all = new std::vector<std::unique_ptr<MoodyDisk>>;
    all->push_back(std::make_unique<MoodyDisk>());
    return all->back().get();
  }
  ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset) override {
    const uint64_t mood = random_() % 12;
    if (mood == 0) {
      errno = ENOSPC;
      return -1;
    }
    return FileIo::PWrite(fd, data, mood < 4 ? (size + 1) / 2 : size, offset);
  }

 private:
  std::mt19937_64 random_{7};  // used by one thread at a time
};

std::string Spans(uint64_t count) {
  std::string spans;
  for (uint64_t i = 0; i < count; ++i) spans += i == 0 ? "{\"name\":\"a\"}" : ",{\"name\":\"b\"}";
  return "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[" + spans + "]}]}]}";
}
std::string Metrics(uint64_t count) {
  std::string metrics;
  for (uint64_t i = 0; i < count; ++i) {
    metrics += i == 0 ? "{\"sum\":{\"dataPoints\":[{}]}}" : ",{\"gauge\":{\"dataPoints\":[{}]}}";
  }
  return "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[" + metrics + "]}]}]}";
}

struct Tally {
  uint64_t taken = 0;     // items
  uint64_t rejected = 0;  // of requests that were taken
};

void RunScript(uint64_t seed, bool spills) {
  SCOPED_TRACE(seed);
  TempDir temp;
  std::mt19937_64 script(seed);
  Rig rig;
  std::mutex mutex;
  std::array<Tally, kSignalCount> tallies;
  if (spills) {
    rig.options.spill_directory = temp / "spill";
    rig.options.spill_bytes = 2000 + script() % 20000;
    if (script() % 2 == 0) rig.options.io = MoodyDisk::Create();
  }
  rig.options.queue_bytes = 300 + script() % 3000;
  rig.options.least_cut_bytes = 0;
  rig.options.timeouts[0] = absl::Seconds(script() % 20);
  const uint64_t away_in_ten = script() % 10;
  const bool knows_metrics = script() % 3 != 0;
  // On Delivery's thread only, as the receiver is.
  rig.receiver->on_send = [&, random = std::mt19937_64(script())](const Receiver::Call& call) mutable {
    rig.clock->Advance(absl::Milliseconds(static_cast<int64_t>(random() % 300)));
    std::lock_guard<std::mutex> lock(mutex);
    if (random() % 10 < away_in_ten) {
      if (random() % 3 != 0) return Retryable();
      return Retryable(absl::Milliseconds(static_cast<int64_t>(random() % 20000)));
    }
    if (call.signal == Signal::kMetrics && !knows_metrics) return NotTaken(SendOutcome::Kind::kUnsupported);
    const uint64_t items = CountItems(call.signal, Form::kJson, call.body).value();
    if (items > 6) return NotTaken(SendOutcome::Kind::kTooLarge, "HTTP 413");
    if (random() % 10 == 0) return NotTaken(SendOutcome::Kind::kRefused, "HTTP 400");
    if (random() % 20 == 0) return NotTaken(SendOutcome::Kind::kTooLarge, "HTTP 413");
    Tally& tally = tallies[static_cast<size_t>(call.signal)];
    const uint64_t rejected = random() % 5 == 0 ? random() % (items + 1) : 0;
    tally.taken += items - rejected;
    tally.rejected += rejected;
    return Delivered(rejected);
  };
  // Pauses come to their ends, but what is on disk is tried again only after a request that was taken.
  rig.clock->FlowFor(absl::Hours(10000));
  rig.clock->FlowOnlyForWaitsUpTo(absl::Seconds(25));
  rig.Start();
  std::array<uint64_t, kSignalCount> pushed{};
  const uint64_t pushes = 20 + script() % 60;
  for (uint64_t i = 0; i < pushes; ++i) {
    const Signal signal = script() % 4 == 0 ? Signal::kMetrics : Signal::kTraces;
    const uint64_t items = 1 + script() % 12;
    rig.delivery->Push(signal, signal == Signal::kTraces ? Spans(items) : Metrics(items), items);
    pushed[static_cast<size_t>(signal)] += items;
    if (script() % 4 == 0) ExpectBalanced(rig.delivery->counts());
    if (script() % 20 == 0) {
      EXPECT_TRUE(rig.Flush().ok());
    }
  }
  rig.Close(absl::Hours(1000));  // all the time that it takes

  const DeliveryCounts counts = rig.delivery->counts();
  ExpectBalanced(counts);
  EXPECT_EQ(counts.queue_bytes, 0u);
  EXPECT_EQ(counts.in_flight, 0u);
  for (size_t i = 0; i < kSignalCount; ++i) {
    EXPECT_EQ(counts.signals[i].pushed.items, pushed[i]);
    EXPECT_EQ(counts.signals[i].waiting.requests, 0u);
  }
  std::lock_guard<std::mutex> lock(mutex);
  EXPECT_TRUE(rig.receiver->destroyed());
  Amount on_disk[kSignalCount];
  if (spills && std::filesystem::exists(temp / "spill")) {
    for (const auto& file : std::filesystem::directory_iterator(temp / "spill")) {
      const auto contents = ReadSpillFile(ReadFile(file.path().string()));
      ASSERT_TRUE(contents.ok());
      for (const SpillEntry& entry : contents->entries) {
        if (!entry.taken) on_disk[static_cast<size_t>(entry.signal)] += {entry.items, 1};
      }
    }
  }
  for (size_t i = 0; i < kSignalCount; ++i) {
    EXPECT_EQ(counts.signals[i].delivered.items, tallies[i].taken);
    EXPECT_EQ(counts.signals[i].rejected.items, tallies[i].rejected);
    // A disk that fails may also fail to note that a request was taken out.
    if (rig.options.io == nullptr) {
      EXPECT_EQ(counts.signals[i].spilled.items, on_disk[i].items);
      EXPECT_EQ(counts.signals[i].spilled.requests, on_disk[i].requests);
    }
  }
}

TEST(DeliveryProperty, EveryItemIsAccountedForExactly) {
  for (uint64_t seed = 1; seed <= 150; ++seed) RunScript(seed, false);
}

TEST(DeliveryProperty, EveryItemIsAccountedForExactlyWithASpillDirectory) {
  for (uint64_t seed = 1001; seed <= 1150; ++seed) RunScript(seed, true);
}

TEST(DeliveryProperty, SeveralThreadsMayPushFlushAndCountAtOnce) {
  Rig rig;
  rig.options.queue_bytes = 4000;
  rig.receiver->on_send = [n = 0](const Receiver::Call&) mutable { return ++n % 7 == 0 ? Retryable() : Delivered(); };
  rig.Start();
  constexpr int kThreads = 3, kEach = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        rig.delivery->Push(Signal::kTraces, Spans(2), 2);
        if (i % 100 == t) {
          ExpectBalanced(rig.delivery->counts());
          EXPECT_TRUE(rig.Flush().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces().waiting.requests, 0u);
  EXPECT_EQ(rig.Traces().pushed.items, 2u * kThreads * kEach);
  EXPECT_EQ(rig.Traces().delivered.items + rig.Traces()[RequestLoss::kQueueFull].items +
                rig.Traces()[RequestLoss::kTimeout].items,
            rig.Traces().pushed.items);
}

}  // namespace
}  // namespace ferret::otlp
