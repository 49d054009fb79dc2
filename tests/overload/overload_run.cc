// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/overload/overload_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "ferret/scope.h"
#include "ferret/session.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/session/session_run.h"
#include "tests/overload/naps.h"
#include "tests/record/recording.h"

namespace ferret {
namespace {

constexpr uint64_t kOneIn = 100;

// How many batches there were, and whether the slow exporter may take another one.
class Pace {
 public:
  void Produced() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++produced_;
    if (produced_ % kOneIn == 0) changed_.notify_all();
  }
  void WaitForTurn() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!over_ && taken_ + 1 > produced_ / kOneIn) changed_.wait(lock);
    taken_ += !over_;
  }
  // The slow one takes what it still has.
  void End() {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  struct Counts {
    uint64_t produced;
    uint64_t taken;
  };
  Counts Now() {
    std::lock_guard<std::mutex> lock(mutex_);
    return {produced_, taken_};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t produced_ = 0;
  uint64_t taken_ = 0;
  bool over_ = false;
};

class BusyExporter : public Exporter {
 public:
  absl::Status Open(const SessionInfo&) override { return absl::OkStatus(); }
  absl::Status Flush(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
};

class CountingExporter final : public BusyExporter {
 public:
  CountingExporter(Pace* pace, std::map<uint32_t, uint64_t>* seen) : pace_(pace), seen_(seen) {}
  absl::Status Export(const EventBatch& batch) override {
    uint32_t thread = 0;
    uint64_t* count = nullptr;
    for (const FunctionEvent& event : batch.events) {
      if (count == nullptr || event.thread != thread) count = &(*seen_)[thread = event.thread];
      ++*count;
    }
    pace_->Produced();
    return absl::OkStatus();
  }

 private:
  Pace* const pace_;
  std::map<uint32_t, uint64_t>* const seen_;
};

class SlowExporter final : public BusyExporter {
 public:
  explicit SlowExporter(Pace* pace) : pace_(pace) {}
  absl::Status Export(const EventBatch&) override {
    pace_->WaitForTurn();
    return absl::OkStatus();
  }

 private:
  Pace* const pace_;
};

struct Worker {
  uint32_t thread = 0;
  uint64_t attempts = 0;
  int64_t longest_nap_ns = 0;
  TickHistogram scopes;

  void Record(const std::atomic<bool>& stop) {
    thread = ThreadId();
    const bool cycles = CheckCycleCounter().fit;
    while (!stop.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 100; ++i) {
        const int64_t napped = NapNs();
        const uint64_t start = ReadTicks(cycles);
        { FERRET_SCOPE("overload"); }
        scopes.Add(ReadTicks(cycles) - start);
        longest_nap_ns = std::max(longest_nap_ns, NapNs() - napped);
      }
      attempts += 100;
    }
  }
};

}  // namespace

size_t TickHistogram::BucketOf(uint64_t ticks) {
  if (ticks < 16) return ticks;
  const int power = 63 - __builtin_clzll(ticks);
  return static_cast<size_t>(8 * (power - 2)) + ((ticks >> (power - 3)) & 7);
}

uint64_t TickHistogram::EndOf(size_t bucket) {
  if (bucket < 16) return bucket;
  const size_t power = bucket / 8 + 2;
  return ((uint64_t{8} + bucket % 8 + 1) << (power - 3)) - 1;
}

void TickHistogram::Add(const TickHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

uint64_t TickHistogram::count() const {
  uint64_t sum = 0;
  for (uint64_t count : counts_) sum += count;
  return sum;
}

uint64_t TickHistogram::Quantile(double share) const {
  const uint64_t wanted = static_cast<uint64_t>(share * static_cast<double>(count()));
  uint64_t sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    last = i;
    sum += counts_[i];
    if (sum > wanted) break;
  }
  return EndOf(last);
}

OverloadResult RunOverloaded(const Options& options, int threads, absl::Duration duration) {
  OverloadResult result;
  Pace pace;
  std::vector<NamedExporter> exporters;
  exporters.push_back({"counting", std::make_unique<CountingExporter>(&pace, &result.seen)});
  exporters.push_back({"slow", std::make_unique<SlowExporter>(&pace)});
  result.resident_before = internal::ResidentBytes();
  auto run = SessionRun::Start(options, std::move(exporters));
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return result;

  std::atomic<bool> stop{false};
  std::vector<Worker> workers(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (Worker& worker : workers) running.emplace_back([&] { worker.Record(stop); });
  const absl::Time start = absl::Now();
  while (absl::Now() < start + duration) {
    absl::SleepFor(duration / 100);  // between two looks at the memory
    const int64_t resident = internal::ResidentBytes();
    result.resident_most = std::max(result.resident_most, resident);
    if (absl::Now() < start + duration / 3) result.resident_warm = result.resident_most;
  }
  stop = true;
  for (std::thread& thread : running) thread.join();
  // While there was overload. What waits then, the slow one takes like any other.
  const Pace::Counts counts = pace.Now();
  result.batches = counts.produced;
  result.slow_batches = counts.taken;
  pace.End();
  EXPECT_TRUE((*run)->Flush(absl::Now() + absl::Seconds(60)).ok());
  EXPECT_TRUE((*run)->Stop(absl::Now() + absl::Seconds(60)).ok());

  for (const Worker& worker : workers) {
    result.attempts[worker.thread] = worker.attempts;
    result.scopes.Add(worker.scopes);
    result.longest_nap_ns = std::max(result.longest_nap_ns, worker.longest_nap_ns);
  }
  result.lost = (*run)->LossesByThread();
  result.all = (*run)->Outputs().at(0).counts;
  result.slow = (*run)->Outputs().at(1).counts;
  result.ns_per_tick = StartClockMap(CheckCycleCounter().fit, 0).ns_per_tick();
  return result;
}

}  // namespace ferret
