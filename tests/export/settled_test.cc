// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an exporter's runner says to be settled: flushed, or counted as lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "runtime/export/exporter_runner.h"
#include "tests/export/fakes.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<EventBatch> Numbered(uint64_t sequence, size_t count = 1) {
  auto batch = MakeBatch(static_cast<int64_t>(sequence), count);
  batch->sequence = sequence;
  return batch;
}

class SettledTest : public testing::Test {
 protected:
  SettledTest() {
    options_.name = "scripted";
    options_.report = [](const std::string&) {};
    options_.clock = FakeClock::Create();
    options_.on_settled = [this](uint64_t batch, const std::optional<DurableOutput>&) {
      std::lock_guard<std::mutex> lock(mutex_);
      settled_.push_back(batch);
    };
  }
  std::unique_ptr<ExporterRunner> Start() {
    return std::make_unique<ExporterRunner>(std::make_unique<ScriptedExporter>(script_), SessionInfo(), options_);
  }
  std::vector<uint64_t> settled() {
    std::lock_guard<std::mutex> lock(mutex_);
    return settled_;
  }

  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
  RunnerOptions options_;
  std::mutex mutex_;
  std::vector<uint64_t> settled_;
};

TEST_F(SettledTest, IsWhatWasExportedWhenItIsFlushed) {
  auto runner = Start();
  runner->Push(Numbered(1));
  runner->Push(Numbered(2));
  while (script_->Count("export 2") == 0) std::this_thread::yield();
  EXPECT_THAT(settled(), ElementsAre());
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(2));
}

TEST_F(SettledTest, ReachesOnlyToTheFirstBatchThatWaits) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch& batch) {
    if (batch.sequence == 2) {
      entered.Open();
      release.Wait();
    }
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(Numbered(1));
  std::thread flush([&] { EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok()); });
  while (script_->Count("flush") == 0) std::this_thread::yield();
  flush.join();
  runner->Push(Numbered(2));
  runner->Push(Numbered(3));
  entered.Wait();
  EXPECT_THAT(settled(), ElementsAre(1));
  release.Open();
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_EQ(settled().back(), 3u);
}

TEST_F(SettledTest, ReachesOnlyAsFarAsTheExporterSays) {
  std::atomic<uint64_t> batch{1};
  script_->settled_batch = [&] { return batch.load(); };
  auto runner = Start();
  runner->Push(Numbered(1));
  runner->Push(Numbered(2));
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(1));
  batch = 2;
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(1, 2));
}

TEST_F(SettledTest, IsNothingWhileFlushingFails) {
  std::atomic<bool> fails{true};
  script_->on_flush = [&] { return fails ? absl::ResourceExhaustedError("disk full") : absl::OkStatus(); };
  auto runner = Start();
  runner->Push(Numbered(1));
  EXPECT_FALSE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre());
  fails = false;
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(1));
}

TEST_F(SettledTest, IncludesBatchesThatWereDropped) {
  options_.max_queue_bytes = Numbered(1, 100)->bytes() * 3 / 2;
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) {
    entered.Open();
    release.Wait();
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(Numbered(1, 100));
  entered.Wait();
  runner->Push(Numbered(2, 100));
  ASSERT_EQ(runner->counts().dropped, 100u);
  release.Open();
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(2));
}

TEST_F(SettledTest, IncludesBatchesThatFailed) {
  script_->on_export = [](const EventBatch&) { return absl::DataLossError("no"); };
  auto runner = Start();
  runner->Push(Numbered(1));
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(settled(), ElementsAre(1));
}

TEST_F(SettledTest, IsEverythingOnceTheExporterIsDisabled) {
  script_->on_export = [](const EventBatch&) -> absl::Status { throw std::runtime_error("oops"); };
  auto runner = Start();
  runner->Push(Numbered(1));
  while (settled().empty()) std::this_thread::yield();
  EXPECT_THAT(settled(), ElementsAre(UINT64_MAX));
}

TEST_F(SettledTest, ComesSoonerWhenItIsWanted) {
  auto runner = Start();
  runner->Push(Numbered(1));
  runner->FlushSoon();  // the clock stands still: no flush is due
  while (settled().empty()) std::this_thread::yield();
  EXPECT_THAT(settled(), ElementsAre(1));
}

}  // namespace
}  // namespace ferret
