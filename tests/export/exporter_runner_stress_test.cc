// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/export/batch_pool.h"
#include "runtime/export/exporter_runner.h"
#include "tests/export/fakes.h"

namespace ferret {
namespace {

// Takes its time, fails now and then, and checks that what it gets is in order.
class MoodyExporter final : public Exporter {
 public:
  struct Seen {
    std::atomic<uint64_t> events{0}, threads{0}, disorder{0};
  };
  MoodyExporter(std::shared_ptr<Seen> seen, unsigned seed, int throws_after)
      : seen_(std::move(seen)), random_(seed), throws_after_(throws_after) {}

  absl::Status Open(const SessionInfo&) override { return absl::OkStatus(); }
  absl::Status Export(const EventBatch& batch) override {
    seen_->threads += batch.threads.size();
    for (const FunctionEvent& event : batch.events) {
      if (event.id <= last_id_) ++seen_->disorder;
      last_id_ = event.id;
    }
    if (throws_after_ > 0 && --throws_after_ == 0) throw std::runtime_error("enough");
    for (unsigned i = random_() % 64; i > 0; --i) std::this_thread::yield();
    if (batch.count() > 0 && random_() % 16 == 0) return absl::UnavailableError("moody");
    seen_->events += batch.count();
    return absl::OkStatus();
  }
  absl::Status Flush(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<Seen> seen_;
  std::minstd_rand random_;
  int throws_after_;
  int64_t last_id_ = 0;
};

void RunSession(unsigned seed) {
  constexpr int kBatches = 3000;
  BatchPool pool;
  std::vector<std::shared_ptr<MoodyExporter::Seen>> seen;
  std::vector<std::unique_ptr<ExporterRunner>> runners;
  for (unsigned i = 0; i < 3; ++i) {
    RunnerOptions options;
    options.name = "moody" + std::to_string(i);
    options.max_queue_bytes = size_t{10'000} << (4 * i);
    options.flush_interval = absl::Milliseconds(1);
    options.progress = [] { return ExportProgress(); };
    options.report = [](const std::string&) {};
    seen.push_back(std::make_shared<MoodyExporter::Seen>());
    // The second one throws; its queue holds more batches than it needs for that.
    const int throws_after = i == 1 ? 20 : 0;
    runners.push_back(std::make_unique<ExporterRunner>(
        std::make_unique<MoodyExporter>(seen.back(), seed + i, throws_after), SessionInfo(), options));
  }

  std::atomic<bool> over{false};
  std::thread watcher([&] {
    while (!over) {
      for (const auto& runner : runners) {
        const ExporterCounts counts = runner->counts();
        ASSERT_EQ(counts.pushed, counts.exported + counts.dropped + counts.failed + counts.waiting);
        runner->Flush(absl::Now() + absl::Milliseconds(1)).IgnoreError();
      }
    }
  });
  std::minstd_rand random(seed);
  uint64_t pushed = 0, notices = 0;
  for (int i = 0; i < kBatches; ++i) {
    std::shared_ptr<EventBatch> batch = pool.Acquire();
    batch->events.resize(random() % 20);
    for (FunctionEvent& event : batch->events) event.id = static_cast<int64_t>(++pushed);
    if (random() % 8 == 0) {
      ++notices;
      batch->threads.push_back(MakeThread(static_cast<uint32_t>(notices)));
    }
    const std::shared_ptr<const EventBatch> finished = std::move(batch);
    for (const auto& runner : runners) runner->Push(finished);
    for (unsigned k = random() % 16; k > 0; --k) std::this_thread::yield();
  }
  over = true;
  watcher.join();

  for (size_t i = 0; i < runners.size(); ++i) {
    EXPECT_EQ(runners[i]->Stop(absl::InfiniteFuture()).ok(), i != 1);
    const ExporterCounts counts = runners[i]->counts();
    EXPECT_EQ(counts.pushed, pushed);
    EXPECT_EQ(counts.waiting, 0u);
    EXPECT_EQ(counts.pushed, counts.exported + counts.dropped + counts.failed);
    EXPECT_EQ(counts.exported, seen[i]->events);
    EXPECT_EQ(seen[i]->disorder, 0u);
    // Whatever was dropped, every notice comes through; only to the one that threw nothing more does.
    EXPECT_TRUE(i == 1 || seen[i]->threads == notices) << seen[i]->threads << " of " << notices;
  }
}

TEST(ExporterRunnerStress, EverySumIsExactWhateverExportersDo) {
  for (unsigned seed = 1; seed <= 3; ++seed) RunSession(seed);
}

TEST(ExporterRunnerStress, AbandoningRacesWithTheThreadThatIsJustFinishing) {
  for (int i = 0; i < 200; ++i) {
    RunnerOptions options;
    options.name = "racer";
    options.report = [](const std::string&) {};
    ExporterRunner runner(std::make_unique<ScriptedExporter>(std::make_shared<Script>()), SessionInfo(), options);
    for (int k = 1; k <= 5; ++k) runner.Push(MakeBatch(k));
    runner.Stop(absl::Now() + absl::Microseconds(10 * (i % 40))).IgnoreError();
    const ExporterCounts counts = runner.counts();
    EXPECT_EQ(counts.pushed, 5u);
    EXPECT_EQ(counts.exported + counts.dropped + counts.failed, 5u);
  }
}

}  // namespace
}  // namespace ferret
