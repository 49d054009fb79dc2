// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// When a runner flushes its exporter, and who waits for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "tests/export/runner_kit.h"

namespace ferret {
namespace {

using testing::ElementsAre;

TEST_F(ExporterRunnerTest, AFlushThatIsWaitedForEndsWhenStopAbandonsTheExporter) {
  const auto entered = std::make_shared<Gate>(), release = std::make_shared<Gate>();
  script_->on_flush = [=] {
    entered->Open();
    release->Wait();
    return absl::OkStatus();
  };
  auto runner = Start();
  absl::Status first, second;
  std::thread flusher([&] { first = runner->Flush(absl::InfiniteFuture()); });
  entered->Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Stop(absl::InfinitePast())));
  flusher.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(first));
  release->Open();
}

TEST_F(ExporterRunnerTest, FlushReturnsWhenEverythingPushedBeforeIsFlushed) {
  auto runner = Start();
  for (int i = 1; i <= 3; ++i) runner->Push(MakeBatch(i));
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "export 2", "export 3", "flush"));
  EXPECT_EQ(runner->counts().exported, 3u);
}

TEST_F(ExporterRunnerTest, FlushReturnsTheExportersError) {
  script_->on_flush = [] { return absl::UnavailableError("net"); };
  auto runner = Start();
  EXPECT_TRUE(absl::IsUnavailable(runner->Flush(absl::InfiniteFuture())));
  EXPECT_TRUE(runner->status().ok());
}

TEST_F(ExporterRunnerTest, FlushGivesUpAtItsDeadlineAndTheExporterGoesOn) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) {
    entered.Open();
    release.Wait();
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  entered.Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Flush(absl::InfinitePast())));
  release.Open();
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 1u);
}

TEST_F(ExporterRunnerTest, WhatWasExportedIsFlushedAfterOneSecondWithoutAnyFurtherBatch) {
  Gate flushed;
  script_->on_flush = [&] {
    flushed.Open();
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  while (runner->counts().exported < 1) std::this_thread::yield();
  EXPECT_EQ(script_->Count("flush"), 0u);
  clock_->Advance(absl::Seconds(1));
  flushed.Wait();

  // Nothing new, nothing to flush, however much time passes.
  clock_->Advance(absl::Hours(1));
  runner->Push(MakeBatch(2));
  while (runner->counts().exported < 2) std::this_thread::yield();
  EXPECT_EQ(script_->Count("flush"), 1u);
}

TEST_F(ExporterRunnerTest, AFlushThatNobodyWaitsForIsOneOfItsOwn) {
  Gate flushed;
  script_->on_background_flush = [&] {
    flushed.Open();
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  while (runner->counts().exported < 1) std::this_thread::yield();
  clock_->Advance(absl::Seconds(1));
  flushed.Wait();
  EXPECT_EQ(script_->Count("flush"), 0u);
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_EQ(script_->Count("flush"), 1u);
  EXPECT_EQ(script_->Count("background flush"), 1u);
}

TEST_F(ExporterRunnerTest, AnExporterThatNeedsItIsFlushedAgainAfterASecondWithoutAnyFurtherBatch) {
  std::atomic<int> flushes{0};
  script_->on_background_flush = [&] {
    ++flushes;
    return absl::OkStatus();
  };
  script_->needs_flush = [&] { return flushes < 2; };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  while (runner->counts().exported < 1) std::this_thread::yield();
  // When the second one is due is known only some time after the first one was seen here.
  while (flushes < 2) {
    clock_->Advance(absl::Seconds(1));
    std::this_thread::yield();
  }

  clock_->Advance(absl::Hours(1));
  runner->Push(MakeBatch(2));
  while (runner->counts().exported < 2) std::this_thread::yield();
  EXPECT_EQ(flushes, 2);
}

TEST_F(ExporterRunnerTest, AFlushThatFailedIsTriedAgainAfterASecond) {
  Gate second;
  std::atomic<int> flushes{0};
  script_->on_flush = [&] {
    if (++flushes == 2) second.Open();
    return flushes == 1 ? absl::UnavailableError("net") : absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  EXPECT_FALSE(runner->Flush(absl::InfiniteFuture()).ok());
  clock_->Advance(absl::Seconds(1));
  second.Wait();
}

}  // namespace
}  // namespace ferret
