// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/exporter_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/export/runner_kit.h"

namespace ferret {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct OpensGateAtThreadExit {
  std::shared_ptr<Gate> gate;
  ~OpensGateAtThreadExit() {
    if (gate != nullptr) gate->Open();
  }
};
thread_local OpensGateAtThreadExit t_exit;

TEST_F(ExporterRunnerTest, CallsTheExporterInOrderAndDestroysItBeforeStopReturns) {
  auto runner = Start();
  runner->Push(MakeBatch(1));
  runner->Push(MakeBatch(2));
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "export 2", "flush", "close", "destroyed"));
  EXPECT_EQ(runner->counts().exported, 2u);
  EXPECT_EQ(runner->destination(), "nowhere.json");
  EXPECT_TRUE(runner->status().ok());
  EXPECT_THAT(TakeLines(), ElementsAre());
}

// Returns once the exporter has been given that, or never.
TEST_F(ExporterRunnerTest, WhatIsPushedWithoutAWakeIsTakenAfterOneOrWhenItIsMuch) {
  auto entered = std::make_shared<Gate>();
  script_->on_export = [&](const EventBatch&) {
    entered->Open();
    return absl::OkStatus();
  };
  const auto batch = MakeBatch(1);
  options_.max_queue_bytes = 16 * batch->bytes();
  auto runner = Start();
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());  // opened, and nothing to do: it sleeps
  runner->Push(batch, /*wake=*/false);
  runner->Wake();
  entered->Wait();
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  entered = std::make_shared<Gate>();
  for (int i = 0; i < 4; ++i) runner->Push(MakeBatch(2), /*wake=*/false);
  entered->Wait();
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 5u);
}

TEST_F(ExporterRunnerTest, StopsOnceAndDropsWhatIsPushedLater) {
  auto runner = Start();
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(runner->Stop(absl::InfinitePast()).ok());
  runner->Push(MakeBatch(1, 3));
  EXPECT_EQ(runner->counts().dropped, 3u);
  EXPECT_TRUE(absl::IsFailedPrecondition(runner->Flush(absl::InfiniteFuture())));
  EXPECT_EQ(script_->Count("close"), 1u);
}

TEST_F(ExporterRunnerTest, TheDestructorStops) {
  auto runner = Start();
  runner->Push(MakeBatch(1));
  runner.reset();
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "flush", "close", "destroyed"));
}

TEST_F(ExporterRunnerTest, AfterAnExceptionTheExporterIsNotCalledEvenForMissedThreadNotices) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) -> absl::Status {
    entered.Open();
    release.Wait();
    throw std::runtime_error("oops");
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  entered.Wait();
  auto batch = MakeBatch(2);
  batch->threads.push_back(MakeThread(1));
  runner->Push(batch);
  release.Open();
  EXPECT_FALSE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "destroyed"));
  EXPECT_EQ(runner->counts().failed, 2u);
}

TEST_F(ExporterRunnerTest, FilesAreAnnouncedToTheSessionUntilTheExporterIsAbandoned) {
  const auto entered = std::make_shared<Gate>(), release = std::make_shared<Gate>(), ended = std::make_shared<Gate>();
  std::vector<std::string> files;
  SessionInfo info;
  info.file_opened = [&files](const std::string& now, const std::string& later) { files.push_back(now + " " + later); };
  const auto start = [&] {
    return std::make_unique<ExporterRunner>(std::make_unique<ScriptedExporter>(script_), info, options_);
  };
  EXPECT_TRUE(start()->Stop(absl::InfiniteFuture()).ok());
  EXPECT_THAT(files, ElementsAre("nowhere.json.part nowhere.json"));

  script_->before_file_opened = [=] {
    t_exit.gate = ended;
    entered->Open();
    release->Wait();
  };
  auto runner = start();
  entered->Wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Stop(absl::InfinitePast())));
  release->Open();
  ended->Wait();
  EXPECT_EQ(files.size(), 1u);
}

TEST_F(ExporterRunnerTest, StopWaitsForTheSessionsOwnCallbackEvenWhenItAbandons) {
  const auto ended = std::make_shared<Gate>();
  script_->on_open = [=] {
    t_exit.gate = ended;
    return absl::OkStatus();
  };
  Gate entered, pushed;
  std::atomic<bool> inside{false};
  std::unique_ptr<ExporterRunner> runner;
  options_.progress = [&] {
    inside = true;
    entered.Open();
    pushed.Wait();
    while (runner->counts().waiting > 0) std::this_thread::yield();  // until Stop gives up
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    inside = false;
    return ExportProgress();
  };
  runner = Start();
  runner->Flush(absl::InfinitePast()).IgnoreError();
  entered.Wait();
  runner->Push(MakeBatch(1));
  pushed.Open();
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Stop(absl::InfinitePast())));
  EXPECT_FALSE(inside);
  ended->Wait();
  EXPECT_THAT(script_->calls(), ElementsAre("open"));
}

thread_local bool t_hook_ran = false;

TEST_F(ExporterRunnerTest, TheThreadIsNamedRunsTheHookFirstAndTakesNoSignalsButItsOwnFaults) {
  char name[16] = "";
  sigset_t blocked;
  bool hook_ran = false;
  options_.name = "a_very_long_name";
  options_.on_thread_start = [] { t_hook_ran = true; };
  script_->on_open = [&] {
    pthread_getname_np(pthread_self(), name, sizeof(name));
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    hook_ran = t_hook_ran;
    return absl::OkStatus();
  };
  EXPECT_TRUE(Start()->Stop(absl::InfiniteFuture()).ok());
  EXPECT_STREQ(name, "ferret-a_very_l");
  EXPECT_TRUE(hook_ran);
  for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGPROF, SIGUSR1, SIGCHLD, SIGRTMIN + 1}) {
    EXPECT_TRUE(sigismember(&blocked, signal)) << signal;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT}) EXPECT_FALSE(sigismember(&blocked, signal)) << signal;

  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGTERM));
}

TEST_F(ExporterRunnerTest, ASlowExporterDropsOnlyItsOwnBatches) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) {
    entered.Open();
    release.Wait();
    return absl::OkStatus();
  };
  options_.max_queue_bytes = 3 * MakeBatch(1)->bytes();
  auto slow = Start();
  const auto fast_script = std::make_shared<Script>();
  options_.max_queue_bytes = size_t{64} << 20;
  ExporterRunner fast(std::make_unique<ScriptedExporter>(fast_script), SessionInfo(), options_);

  for (int i = 1; i <= 100; ++i) {
    const std::shared_ptr<const EventBatch> batch = MakeBatch(i);
    slow->Push(batch);
    fast.Push(batch);
    if (i == 1) entered.Wait();
  }
  EXPECT_EQ(slow->counts().dropped, 97u);
  release.Open();
  EXPECT_TRUE(slow->Stop(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(fast.Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(slow->counts().exported, 3u);
  EXPECT_EQ(slow->counts().dropped, 97u);
  EXPECT_EQ(fast.counts().exported, 100u);
  EXPECT_EQ(fast.counts().dropped, 0u);
}

TEST_F(ExporterRunnerTest, ThreadNoticesSurviveDroppedBatchesAndComeBeforeTheNextEvents) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) {
    entered.Open();
    release.Wait();
    return absl::OkStatus();
  };
  options_.max_queue_bytes = MakeBatch(1)->bytes();
  auto runner = Start();
  runner->Push(MakeBatch(1));
  entered.Wait();
  for (uint32_t thread : {1, 2}) {
    auto batch = MakeBatch(10);
    batch->threads.push_back(MakeThread(thread));
    runner->Push(batch);
  }
  EXPECT_EQ(runner->counts().dropped, 2u);
  release.Open();
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  runner->Push(MakeBatch(20));
  EXPECT_TRUE(runner->Flush(absl::InfiniteFuture()).ok());
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "flush", "threads 1 2", "export 20", "flush"));
}

TEST_F(ExporterRunnerTest, ThreadNoticesOfDroppedBatchesComeBeforeCloseWhenNoOtherBatchFollows) {
  options_.max_queue_bytes = 1;
  auto runner = Start();
  auto batch = MakeBatch(1);
  batch->threads.push_back(MakeThread(5));
  runner->Push(batch);
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_THAT(script_->calls(), ElementsAre("open", "threads 5", "flush", "close", "destroyed"));
}

TEST_F(ExporterRunnerTest, AnErrorOfOpenDisablesTheExporterAndEverythingIsCountedAsFailed) {
  Gate entered, release;
  script_->on_open = [&] {
    entered.Open();
    release.Wait();
    return absl::PermissionDeniedError("no\nentry");
  };
  auto runner = Start();
  entered.Wait();
  runner->Push(MakeBatch(1, 2));
  release.Open();
  EXPECT_TRUE(absl::IsPermissionDenied(runner->Flush(absl::InfiniteFuture())));
  runner->Push(MakeBatch(3, 3));
  EXPECT_TRUE(absl::IsPermissionDenied(runner->status()));
  EXPECT_TRUE(absl::IsPermissionDenied(runner->Stop(absl::InfiniteFuture())));
  EXPECT_EQ(runner->counts().pushed, 5u);
  EXPECT_EQ(runner->counts().failed, 5u);
  EXPECT_THAT(script_->calls(), ElementsAre("open", "destroyed"));
  EXPECT_THAT(TakeLines(), ElementsAre("ferret: exporter scripted: Open failed: PERMISSION_DENIED: no entry"));
}

TEST_F(ExporterRunnerTest, AnErrorOfExportLosesThatBatchAloneAndOnlyTheFirstIsReported) {
  script_->on_export = [](const EventBatch& batch) {
    return batch.events[0].id % 2 == 0 ? absl::UnavailableError("full") : absl::OkStatus();
  };
  auto runner = Start();
  for (int i = 1; i <= 6; ++i) runner->Push(MakeBatch(i));
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(runner->counts().exported, 3u);
  EXPECT_EQ(runner->counts().failed, 3u);
  EXPECT_THAT(TakeLines(), ElementsAre("ferret: exporter scripted: Export failed: UNAVAILABLE: full"));
}

TEST_F(ExporterRunnerTest, AnErrorOfFlushOrCloseIsWhatStopReturns) {
  script_->on_close = [] { return absl::DataLossError("disk"); };
  EXPECT_TRUE(absl::IsDataLoss(Start()->Stop(absl::InfiniteFuture())));
  script_->on_flush = [] { return absl::UnavailableError("net"); };
  EXPECT_TRUE(absl::IsUnavailable(Start()->Stop(absl::InfiniteFuture())));
}

// Which call misbehaves.
class ExporterRunnerCallTest : public ExporterRunnerTest, public testing::WithParamInterface<const char*> {
 protected:
  void Misbehave(std::function<absl::Status()> action) {
    const std::string call = GetParam();
    if (call == "open") script_->on_open = std::move(action);
    if (call == "export") script_->on_export = [action = std::move(action)](const EventBatch&) { return action(); };
    if (call == "flush") script_->on_flush = std::move(action);
    if (call == "close") script_->on_close = std::move(action);
  }
};

INSTANTIATE_TEST_SUITE_P(, ExporterRunnerCallTest, testing::Values("open", "export", "flush", "close"),
                         [](const auto& call) { return std::string(call.param); });

TEST_P(ExporterRunnerCallTest, AnExceptionDisablesTheExporterWithOneLine) {
  Misbehave([]() -> absl::Status { throw std::runtime_error("oops"); });
  auto runner = Start();
  runner->Push(MakeBatch(1));
  runner->Flush(absl::InfiniteFuture()).IgnoreError();
  runner->Push(MakeBatch(2));
  EXPECT_THAT(std::string(runner->Stop(absl::InfiniteFuture()).message()), HasSubstr("threw an exception: oops"));
  const bool all = GetParam() == std::string("close");
  EXPECT_EQ(runner->counts().pushed, 2u);
  EXPECT_EQ(runner->counts().failed, all ? 0u : GetParam() == std::string("flush") ? 1u : 2u);
  EXPECT_EQ(runner->counts().exported, 2 - runner->counts().failed);
  EXPECT_EQ(script_->calls().back(), "destroyed");
  const auto lines = TakeLines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("threw an exception: oops; it is disabled"));
}

TEST_P(ExporterRunnerCallTest, WhatIsThrownNeedNotBeAnException) {
  Misbehave([]() -> absl::Status { throw 42; });
  auto runner = Start();
  runner->Push(MakeBatch(1));
  EXPECT_TRUE(absl::IsInternal(runner->Stop(absl::InfiniteFuture())));
  EXPECT_EQ(runner->counts().waiting, 0u);
}

TEST_P(ExporterRunnerCallTest, AHangingExporterStopsNeitherPushNorStopAndIsNeverCalledAgain) {
  const auto entered = std::make_shared<Gate>(), release = std::make_shared<Gate>(), ended = std::make_shared<Gate>();
  Misbehave([=] {
    t_exit.gate = ended;
    entered->Open();
    release->Wait();
    return absl::OkStatus();
  });
  std::atomic<int> asked{0};
  options_.progress = [&asked] {
    ++asked;
    return ExportProgress();
  };
  options_.max_queue_bytes = 10 * MakeBatch(1)->bytes();
  auto runner = Start();
  runner->Push(MakeBatch(1));
  runner->Flush(absl::InfinitePast()).IgnoreError();  // asks for a flush, waits for nothing
  absl::Status stopped;
  std::thread stopper;
  const auto stop = [&] { stopper = std::thread([&] { stopped = runner->Stop(absl::Now() + absl::Hours(1)); }); };
  if (GetParam() == std::string("close")) stop();
  entered->Wait();
  for (int i = 0; i < 1000; ++i) runner->Push(MakeBatch(2));
  if (!stopper.joinable()) stop();
  WaitForStop(*runner);

  const ExporterCounts before = runner->counts();
  EXPECT_EQ(before.pushed, 1001u);
  clock_->Advance(absl::Hours(2));
  stopper.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(stopped));
  const ExporterCounts counts = runner->counts();
  EXPECT_EQ(counts.pushed, counts.exported + counts.dropped + counts.failed);
  EXPECT_EQ(counts.waiting, 0u);
  EXPECT_EQ(counts.failed, GetParam() == std::string("export") ? 1u : 0u);
  EXPECT_EQ(counts.exported, before.exported);
  const auto lines = TakeLines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("was abandoned; it lost " + std::to_string(counts.dropped + counts.failed) +
                                  " of 1001 events"));

  const auto calls = script_->calls();
  const int asked_before = asked;
  runner.reset();
  release->Open();
  ended->Wait();
  EXPECT_EQ(script_->calls(), calls);
  EXPECT_EQ(asked, asked_before);
}

TEST_F(ExporterRunnerTest, ProgressIsTheSessionsPartAndTheExportersOwnLosses) {
  options_.progress = [] {
    ExportProgress progress;
    progress.events_built = 12;
    progress.lost[LossReason::kPoolExhausted] = 3;
    return progress;
  };
  options_.max_queue_bytes = 4 * MakeBatch(1)->bytes();
  script_->on_export = [](const EventBatch&) { return absl::UnavailableError("full"); };
  auto runner = Start();
  runner->Push(MakeBatch(1, 2));
  runner->Push(MakeBatch(3, 100));
  EXPECT_TRUE(runner->Stop(absl::InfiniteFuture()).ok());
  const ExportProgress progress = script_->progress();
  EXPECT_EQ(progress.events_built, 12u);
  EXPECT_EQ(progress.lost[LossReason::kPoolExhausted], 3u);
  EXPECT_EQ(progress.lost[LossReason::kExporterFailed], 2u);
  EXPECT_EQ(progress.lost[LossReason::kExporterDropped], 100u);
  EXPECT_EQ(progress.lost.total(), 105u);
}

TEST_F(ExporterRunnerTest, ASlowExporterStillClosesSinceTheRestIsDroppedHalfWayToTheDeadline) {
  Gate entered, release;
  script_->on_export = [&](const EventBatch&) {
    entered.Open();
    release.Wait();
    return absl::OkStatus();
  };
  auto runner = Start();
  for (int i = 1; i <= 5; ++i) runner->Push(MakeBatch(i));
  entered.Wait();
  absl::Status stopped;
  std::thread stopper([&] { stopped = runner->Stop(absl::Now() + absl::Seconds(80)); });
  WaitForStop(*runner);
  clock_->Advance(absl::Seconds(41));
  release.Open();
  stopper.join();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_THAT(script_->calls(), ElementsAre("open", "export 1", "flush", "close", "destroyed"));
  EXPECT_EQ(runner->counts().exported, 1u);
  EXPECT_EQ(runner->counts().dropped, 4u);
}

TEST_F(ExporterRunnerTest, StoppingIsRequestedOfAllFirstSoThatOneThatHangsDoesNotTakeTheOthersTime) {
  const auto release = std::make_shared<Gate>();
  const auto hanging_script = std::make_shared<Script>();
  hanging_script->on_open = [=] {
    release->Wait();
    return absl::OkStatus();
  };
  ExporterRunner hanging(std::make_unique<ScriptedExporter>(hanging_script), SessionInfo(), options_);
  auto fine = Start();
  fine->Push(MakeBatch(1));
  const absl::Time deadline = absl::Now() + absl::Hours(1);
  hanging.RequestStop(deadline);
  fine->RequestStop(deadline);
  while (script_->Count("destroyed") == 0) std::this_thread::yield();
  clock_->Advance(absl::Hours(2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(hanging.Stop(deadline)));
  fine->Stop(deadline).IgnoreError();
  EXPECT_EQ(fine->counts().exported, 1u);
  EXPECT_EQ(script_->Count("close"), 1u);
  release->Open();
}

TEST_F(ExporterRunnerTest, WithoutAReporterLinesGoToStandardError) {
  options_.report = nullptr;
  script_->on_open = [] { return absl::NotFoundError("nothing"); };
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Start()->Stop(absl::InfiniteFuture()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ferret: exporter scripted: Open failed: NOT_FOUND: nothing\n");
}

TEST_F(ExporterRunnerTest, WorksOnTheRealClock) {
  options_.clock = nullptr;
  options_.flush_interval = absl::Milliseconds(1);
  Gate flushed;
  script_->on_flush = [&] {
    flushed.Open();
    return absl::OkStatus();
  };
  auto runner = Start();
  runner->Push(MakeBatch(1));
  flushed.Wait();
  EXPECT_TRUE(runner->Flush(absl::Now() + absl::Minutes(1)).ok());
  EXPECT_TRUE(runner->Stop(absl::Now() + absl::Minutes(1)).ok());
}

TEST_F(ExporterRunnerTest, AHangingExporterIsAbandonedOnTheRealClockToo) {
  options_.clock = nullptr;
  const auto release = std::make_shared<Gate>();
  script_->on_open = [=] {
    release->Wait();
    return absl::OkStatus();
  };
  auto runner = Start();
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Flush(absl::Now() + absl::Milliseconds(1))));
  EXPECT_TRUE(absl::IsDeadlineExceeded(runner->Stop(absl::Now() + absl::Milliseconds(1))));
  release->Open();
}

}  // namespace
}  // namespace ferret
