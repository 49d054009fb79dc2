// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An exporter that hangs in one call, and somebody who needs the memory that waits for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/export/runner_kit.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;

class HangingExporter : public ExporterRunnerTest {
 protected:
  HangingExporter() {
    options_.on_settled = [this](uint64_t batch, const std::optional<DurableOutput>&) { Note(&settled_, batch); };
    options_.on_given_up = [this](uint64_t batch) { Note(&given_up_, batch); };
    script_->on_export = [this](const EventBatch&) {
      entered_.Open();
      release_.Wait();
      return result_;
    };
  }
  // A batch in the exporter's hands, and two that wait.
  std::unique_ptr<ExporterRunner> StartHanging() {
    auto runner = Start();
    runner->Push(Numbered(1));
    entered_.Wait();
    runner->Push(Numbered(2));
    runner->Push(Numbered(3));
    return runner;
  }
  static std::shared_ptr<EventBatch> Numbered(uint64_t sequence) {
    auto batch = MakeBatch(static_cast<int64_t>(sequence));
    batch->sequence = sequence;
    return batch;
  }
  std::vector<uint64_t> given_up() { return Copy(given_up_); }
  std::vector<uint64_t> settled() { return Copy(settled_); }

  Gate entered_, release_;
  absl::Status result_;

 private:
  void Note(std::vector<uint64_t>* list, uint64_t batch) {
    std::lock_guard<std::mutex> lock(mutex_);
    list->push_back(batch);
  }
  std::vector<uint64_t> Copy(const std::vector<uint64_t>& list) {
    std::lock_guard<std::mutex> lock(mutex_);
    return list;
  }
  std::mutex mutex_;
  std::vector<uint64_t> given_up_, settled_;
};

TEST_F(HangingExporter, LosesWhatWaitsForItAndNobodyWaitsForTheRest) {
  auto runner = StartHanging();
  clock_->Advance(absl::Seconds(2));
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre(3));
  EXPECT_EQ(runner->counts().dropped, 2u);
  EXPECT_EQ(runner->counts().waiting, 1u) << "what it has got may still be exported";
  runner->Push(Numbered(4));
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre(3, 4));
  EXPECT_EQ(runner->counts().dropped, 3u);
  release_.Open();
  ASSERT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 1u);
  EXPECT_EQ(runner->counts().waiting, 0u);
}

TEST_F(HangingExporter, HasFailedWithWhatItHadIfTheCallSaysSoInTheEnd) {
  result_ = absl::UnavailableError("no");
  auto runner = StartHanging();
  clock_->Advance(absl::Seconds(2));
  runner->FlushSoon();
  release_.Open();
  ASSERT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().failed, 1u);
  EXPECT_EQ(runner->counts().dropped, 2u);
}

TEST_F(HangingExporter, IsGivenASecond) {
  auto runner = StartHanging();
  clock_->Advance(absl::Seconds(1));
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre());
  release_.Open();
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 3u);
}

// Slow, but not hanging: each call has a second.
TEST_F(HangingExporter, IsNotOneWhoseCallsReturn) {
  auto runner = StartHanging();
  clock_->Advance(absl::Seconds(5));
  release_.Open();
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  clock_->Advance(absl::Seconds(5));
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre());
  EXPECT_THAT(settled(), ElementsAre(3));
  EXPECT_EQ(runner->counts().dropped, 0u);
}

TEST_F(HangingExporter, KeepsWhatWaitsIfNobodyNeedsTheMemory) {
  options_.on_given_up = nullptr;
  auto runner = StartHanging();
  clock_->Advance(absl::Seconds(5));
  runner->FlushSoon();
  EXPECT_EQ(runner->counts().dropped, 0u);
  release_.Open();
  ASSERT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 3u);
}

TEST_F(HangingExporter, FailsAFlushThatWaitsForWhatItLoses) {
  auto runner = StartHanging();
  std::thread flush([&] { EXPECT_TRUE(absl::IsUnavailable(runner->Flush(absl::InfiniteFuture()))); });
  clock_->Advance(absl::Seconds(2));
  // Until the call has come and gone: the flush is queued by the other thread at some time.
  std::atomic<bool> over{false};
  std::thread wanting([&] {
    while (!over) runner->FlushSoon();
  });
  flush.join();
  over = true;
  wanting.join();
  release_.Open();
}

TEST_F(HangingExporter, ThatCannotFlushForAsLongHoldsUpNobodyEither) {
  std::atomic<bool> full{true};
  script_->on_flush = [&full] { return full ? absl::ResourceExhaustedError("no space") : absl::OkStatus(); };
  release_.Open();
  auto runner = Start();
  runner->Push(Numbered(1));
  EXPECT_FALSE(runner->Flush(absl::InfiniteFuture()).ok());
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre());
  clock_->Advance(absl::Seconds(2));
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre(1));
  EXPECT_THAT(settled(), ElementsAre());
  full = false;
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  runner->FlushSoon();
  EXPECT_THAT(given_up(), ElementsAre(1)) << "it is not behind any more";
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
}

}  // namespace
}  // namespace ferret
