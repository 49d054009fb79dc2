// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Dumps: when they are made, what is in them, and what becomes of it when exporters misbehave.

#include "runtime/export/flight_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/export/fakes.h"

namespace ferret {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What each dump got, and what its exporter is to do. Outlives abandoned exporters.
class Dumps {
 public:
  struct One {
    std::string label;
    std::string why;
    std::vector<int64_t> ids;
    std::vector<uint32_t> threads;
    ExportProgress progress;
    bool closed = false;
  };
  std::function<absl::Status(int dump, const EventBatch&)> on_export;
  std::function<absl::Status(int dump)> on_open;

  One of(size_t dump) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return dump < all_.size() ? all_[dump] : One();
  }
  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return all_.size();
  }

 private:
  friend class DumpExporter;
  mutable std::mutex mutex_;
  std::vector<One> all_;
};

class DumpExporter final : public Exporter {
 public:
  explicit DumpExporter(std::shared_ptr<Dumps> dumps) : dumps_(std::move(dumps)) {}

  absl::Status Open(const SessionInfo& info) override {
    {
      std::lock_guard<std::mutex> lock(dumps_->mutex_);
      index_ = static_cast<int>(dumps_->all_.size());
      dumps_->all_.emplace_back();
      dumps_->all_.back().label = info.label;
      for (const auto& [name, value] : info.options) {
        if (name == "FERRET_FLIGHT_DUMP") dumps_->all_.back().why = value;
      }
    }
    return dumps_->on_open ? dumps_->on_open(index_) : absl::OkStatus();
  }
  absl::Status Export(const EventBatch& batch) override {
    const absl::Status status = dumps_->on_export ? dumps_->on_export(index_, batch) : absl::OkStatus();
    if (!status.ok()) return status;
    std::lock_guard<std::mutex> lock(dumps_->mutex_);
    Dumps::One& one = dumps_->all_[static_cast<size_t>(index_)];
    for (const FunctionEvent& event : batch.events) one.ids.push_back(event.id);
    for (const ThreadInfo& info : batch.threads) one.threads.push_back(info.thread);
    return absl::OkStatus();
  }
  absl::Status Flush(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ExportProgress& progress, absl::Time) override {
    std::lock_guard<std::mutex> lock(dumps_->mutex_);
    dumps_->all_[static_cast<size_t>(index_)].progress = progress;
    dumps_->all_[static_cast<size_t>(index_)].closed = true;
    return absl::OkStatus();
  }
  std::string Destination() const override { return absl::StrCat("file", index_ + 1); }

 private:
  const std::shared_ptr<Dumps> dumps_;
  int index_ = 0;
};

class FlightRecorderTest : public testing::Test {
 protected:
  FlightRecorderTest() {
    config_.flight.size_bytes = 64 << 20;
    config_.outputs = {"fake"};
    config_.make_exporters = [dumps = dumps_] {
      std::vector<NamedExporter> exporters;
      exporters.push_back({"fake", std::make_unique<DumpExporter>(dumps)});
      return exporters;
    };
    config_.runner.report = [](const std::string&) {};
    config_.say = [lines = lines_](const std::string& line) {
      std::lock_guard<std::mutex> lock(lines->first);
      lines->second.push_back(line);
    };
  }

  void Start() {
    recorder_ = std::make_unique<FlightRecorder>(config_);
    ASSERT_TRUE(recorder_->Start());
  }
  void Push(size_t count = 1) {
    auto batch = MakeBatch(next_id_, count);
    next_id_ += static_cast<int64_t>(count);
    batch->sequence = ++sequence_;
    recorder_->Push(std::move(batch));
  }
  // A step of that many milliseconds.
  void PushStep(int number, int64_t milliseconds) {
    auto batch = MakeBatch(next_id_++);
    FunctionEvent& event = batch->events[0];
    names_.push_back(absl::StrCat("ProfilerStep#", number));
    event.name = names_.back();
    event.is_user_annotation = true;
    event.end_ns = milliseconds * 1'000'000;
    batch->sequence = ++sequence_;
    recorder_->Push(std::move(batch));
  }
  absl::Status Wait() { return recorder_->WaitForDumps(absl::Now() + absl::Seconds(60)); }
  absl::Status Stop(absl::Duration timeout = absl::Seconds(60)) { return recorder_->Stop(absl::Now() + timeout); }
  void ExpectExact() {
    for (const FlightRecorder::Output& output : recorder_->outputs()) {
      const ExporterCounts& counts = output.counts;
      EXPECT_EQ(counts.pushed, static_cast<uint64_t>(next_id_ - 1));
      EXPECT_EQ(counts.pushed, counts.exported + counts.failed + counts.discarded);
      EXPECT_EQ(counts.waiting, 0u);
    }
  }
  std::vector<std::string> lines() const {
    std::lock_guard<std::mutex> lock(lines_->first);
    return lines_->second;
  }

  const std::shared_ptr<Dumps> dumps_ = std::make_shared<Dumps>();
  const std::shared_ptr<std::pair<std::mutex, std::vector<std::string>>> lines_ =
      std::make_shared<std::pair<std::mutex, std::vector<std::string>>>();
  FlightRecorder::Config config_;
  std::unique_ptr<FlightRecorder> recorder_;
  std::deque<std::string> names_;
  int64_t next_id_ = 1;
  uint64_t sequence_ = 0;
};

TEST_F(FlightRecorderTest, WritesNothingThatNobodyAskedFor) {
  Start();
  Push(5);
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(dumps_->size(), 0u);
  EXPECT_EQ(recorder_->counts().discarded, 5u);
  EXPECT_THAT(lines(), IsEmpty());
  ExpectExact();
}

TEST_F(FlightRecorderTest, GivesEachDumpExportersOfItsOwnAndAllThatTheRingHas) {
  Start();
  Push(2);
  ASSERT_TRUE(recorder_->Dump("first").ok());
  ASSERT_TRUE(Wait().ok());
  Push();
  ASSERT_TRUE(recorder_->Dump("second").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_TRUE(Stop().ok());
  ASSERT_EQ(dumps_->size(), 2u);
  EXPECT_EQ(dumps_->of(0).label, "dump1");
  EXPECT_EQ(dumps_->of(0).why, "dump1, first");
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(1, 2));
  EXPECT_EQ(dumps_->of(1).label, "dump2");
  EXPECT_THAT(dumps_->of(1).ids, ElementsAre(1, 2, 3));
  EXPECT_TRUE(dumps_->of(0).closed && dumps_->of(1).closed);
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 3u);
  EXPECT_THAT(recorder_->outputs()[0].destinations, ElementsAre("file1", "file2"));
  EXPECT_THAT(lines(), ElementsAre("flight recorder: dump 1, first: file1, 2 events",
                                   "flight recorder: dump 2, second: file2, 3 events"));
  ExpectExact();
}

TEST_F(FlightRecorderTest, TellsADumpHowMuchOfTheSessionIsNotInIt) {
  config_.flight.last_ns = 10;
  config_.runner.progress = [] {
    ExportProgress progress;
    progress.events_built = 6;
    return progress;
  };
  Start();
  Push(5);  // at 0 ns
  auto late = MakeBatch(next_id_++);
  late->events[0].end_ns = 100;
  late->sequence = ++sequence_;
  recorder_->Push(late);
  ASSERT_TRUE(recorder_->Dump("test").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(6));
  EXPECT_EQ(dumps_->of(0).progress.events_built, 6u);
  EXPECT_EQ(dumps_->of(0).progress.events_discarded, 5u);
  EXPECT_TRUE(Stop().ok());
  ExpectExact();
}

TEST_F(FlightRecorderTest, CatchesUpBeforeADumpAndAddsWhatIsOpen) {
  config_.catch_up = [this] {
    Push();
    auto open = MakeBatch(1000);
    open->extra = 1;
    return FlightRecorder::CaughtUp{open};
  };
  Start();
  ASSERT_TRUE(recorder_->Dump("test").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(1, 1000));
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 1u) << "what is open is counted when it ends";
  ExpectExact();
}

TEST_F(FlightRecorderTest, MakesOneMoreDumpOfAllThatAsksWhileOneIsWritten) {
  Gate entered, release;
  dumps_->on_export = [&](int dump, const EventBatch&) {
    if (dump == 0) {
      entered.Open();
      release.Wait();
    }
    return absl::OkStatus();
  };
  Start();
  Push();
  ASSERT_TRUE(recorder_->Dump("first").ok());
  entered.Wait();
  Push();  // recording goes on
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(recorder_->Dump(absl::StrCat("more ", i)).ok());
  release.Open();
  ASSERT_TRUE(Wait().ok());
  EXPECT_EQ(dumps_->size(), 2u);
  EXPECT_EQ(dumps_->of(1).why, "dump2, more 0 (and 4 more)");
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(1));
  EXPECT_THAT(dumps_->of(1).ids, ElementsAre(1, 2));
  EXPECT_TRUE(Stop().ok());
  ExpectExact();
}

TEST_F(FlightRecorderTest, MakesNoMoreDumpsThanAllowedAndSaysSoOnce) {
  config_.flight.dumps = 2;
  config_.flight.at_exit = true;
  Start();
  Push();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(recorder_->Dump("test").ok());
    ASSERT_TRUE(Wait().ok());
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsResourceExhausted(recorder_->Dump("test")));
  EXPECT_EQ(dumps_->size(), 2u);
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(dumps_->size(), 3u) << "the one at the end is asked for by its own name";
  ASSERT_EQ(lines().size(), 4u);
  EXPECT_THAT(lines()[2], HasSubstr("no more dumps"));
  ExpectExact();
}

TEST_F(FlightRecorderTest, IsAskedBySignals) {
  FlightBell bell;
  config_.bell = &bell;
  Start();
  Push();
  bell.RingForSignal();
  bell.RingForSignal();
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(dumps_->of(0).why, HasSubstr("asked for by a signal"));
  EXPECT_TRUE(Stop().ok());
  EXPECT_LE(dumps_->size(), 2u);
  ExpectExact();
}

TEST_F(FlightRecorderTest, DumpsAStepThatTakesTooLong) {
  config_.flight.slow_ns = 200'000'000;
  Start();
  PushStep(1, 200);
  PushStep(2, 201);
  ASSERT_TRUE(Wait().ok());
  EXPECT_EQ(dumps_->size(), 1u);
  EXPECT_THAT(dumps_->of(0).why, HasSubstr("step 2 took 201ms"));
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(1, 2)) << "the step is in it";
  EXPECT_TRUE(Stop().ok());
  ExpectExact();
}

TEST_F(FlightRecorderTest, DumpsAStepThatTakesLongerThanIsUsual) {
  config_.flight.slow_factor = 2;
  Start();
  PushStep(0, 5000);  // the first steps always take long
  for (int i = 1; i < 20; ++i) PushStep(i, 100 + i % 3);
  EXPECT_TRUE(Wait().ok());
  EXPECT_EQ(dumps_->size(), 0u);
  PushStep(20, 250);
  ASSERT_TRUE(Wait().ok());
  ASSERT_EQ(dumps_->size(), 1u);
  EXPECT_THAT(dumps_->of(0).why, HasSubstr("step 20 took 250ms, the median is 101ms"));
  EXPECT_TRUE(Stop().ok());
}

TEST_F(FlightRecorderTest, WritesWhatWasAskedForBeforeTheEnd) {
  config_.flight.at_exit = true;
  Start();
  Push(3);
  ASSERT_TRUE(recorder_->Dump("just before").ok());
  EXPECT_TRUE(Stop().ok());
  EXPECT_GE(dumps_->size(), 1u);
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 3u);
  EXPECT_TRUE(absl::IsFailedPrecondition(recorder_->Dump("too late")));
  ExpectExact();
}

TEST_F(FlightRecorderTest, CountsWhatAnExporterRefusesAndGoesOn) {
  dumps_->on_export = [](int dump, const EventBatch& batch) {
    return dump == 0 && batch.sequence == 2 ? absl::DataLossError("no") : absl::OkStatus();
  };
  Start();
  Push(2);
  Push(3);
  ASSERT_TRUE(recorder_->Dump("first").ok());
  ASSERT_TRUE(Wait().ok());
  Push(4);
  ASSERT_TRUE(recorder_->Dump("second").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 6u);
  EXPECT_EQ(recorder_->outputs()[0].counts.failed, 3u) << "by the first dump that had them";
  ExpectExact();
}

TEST_F(FlightRecorderTest, CountsADumpThatCannotBeOpenedAsFailedAndMakesTheNextOne) {
  dumps_->on_open = [](int dump) -> absl::Status {
    if (dump == 0) return absl::PermissionDeniedError("read only");
    if (dump == 1) throw std::runtime_error("thrown");
    return absl::OkStatus();
  };
  Start();
  for (int i = 0; i < 3; ++i) {
    Push(2);
    ASSERT_TRUE(recorder_->Dump("test").ok());
    EXPECT_EQ(Wait().ok(), i == 2);
  }
  EXPECT_TRUE(Stop().ok());
  EXPECT_THAT(dumps_->of(2).ids, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(lines()[0], HasSubstr("read only"));
  ExpectExact();
}

TEST_F(FlightRecorderTest, SurvivesExportersThatCannotBeMade) {
  config_.make_exporters = []() -> absl::StatusOr<std::vector<NamedExporter>> { return absl::NotFoundError("gone"); };
  Start();
  Push(2);
  ASSERT_TRUE(recorder_->Dump("test").ok());
  EXPECT_TRUE(absl::IsNotFound(Wait()));
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(recorder_->outputs()[0].counts.failed, 2u);
  ExpectExact();
}

TEST_F(FlightRecorderTest, SurvivesExportersThatThrowWhenTheyAreMade) {
  config_.make_exporters = []() -> absl::StatusOr<std::vector<NamedExporter>> { throw std::runtime_error("thrown"); };
  Start();
  Push(2);
  ASSERT_TRUE(recorder_->Dump("test").ok());
  EXPECT_THAT(std::string(Wait().message()), HasSubstr("thrown"));
  EXPECT_TRUE(Stop().ok());
  EXPECT_EQ(recorder_->outputs()[0].counts.failed, 2u);
  ExpectExact();
}

TEST_F(FlightRecorderTest, GivesUpAnExporterThatHangsAndDumpsAgain) {
  const auto release = std::make_shared<Gate>();
  dumps_->on_export = [release](int dump, const EventBatch&) {
    if (dump == 0) release->Wait();
    return absl::OkStatus();
  };
  config_.dump_timeout = absl::Milliseconds(20);
  Start();
  Push(2);
  ASSERT_TRUE(recorder_->Dump("first").ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(Wait()));
  Push(1);
  ASSERT_TRUE(recorder_->Dump("second").ok());
  Wait().IgnoreError();
  EXPECT_TRUE(Stop().ok());
  release->Open();
  EXPECT_EQ(recorder_->outputs()[0].counts.failed + recorder_->outputs()[0].counts.exported, 3u);
  ExpectExact();
}

TEST_F(FlightRecorderTest, StopsInTimeWhileADumpHangs) {
  const auto entered = std::make_shared<Gate>(), release = std::make_shared<Gate>();
  dumps_->on_export = [=](int, const EventBatch&) {
    entered->Open();
    release->Wait();
    return absl::OkStatus();
  };
  config_.flight.at_exit = true;  // which hangs as well
  Start();
  Push(2);
  ASSERT_TRUE(recorder_->Dump("test").ok());
  entered->Wait();
  Push(3);
  const absl::Time before = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Stop(absl::Seconds(2))));
  EXPECT_FALSE(recorder_->abandoned()) << "the exporter is";
  EXPECT_LT(absl::Now() - before, absl::Seconds(20));
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 0u);
  EXPECT_EQ(recorder_->outputs()[0].counts.failed, 5u);
  ExpectExact();
  release->Open();
}

// What was open may have ended in them, and would be there twice.
TEST_F(FlightRecorderTest, LeavesBatchesThatCameAfterTheListOfOpenScopesToTheNextDump) {
  config_.catch_up = [this] {
    Push();
    auto open = MakeBatch(next_id_);
    open->extra = 1;
    const FlightRecorder::CaughtUp caught_up{open, sequence_};
    Push();  // it ends
    return caught_up;
  };
  Start();
  ASSERT_TRUE(recorder_->Dump("first").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(dumps_->of(0).ids, ElementsAre(1, 2));
  EXPECT_EQ(dumps_->of(0).progress.events_discarded, 0u);
  EXPECT_EQ(recorder_->counts().waiting, 1u);
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 1u);
  ASSERT_TRUE(recorder_->Dump("second").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(dumps_->of(1).ids, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(recorder_->outputs()[0].counts.exported, 3u);
  EXPECT_TRUE(Stop().ok());
  ExpectExact();
}

TEST_F(FlightRecorderTest, TellsWhoStopsItThatTheLastDumpFailed) {
  config_.flight.at_exit = true;
  dumps_->on_export = [](int, const EventBatch&) { return absl::OkStatus(); };
  dumps_->on_open = [](int) { return absl::ResourceExhaustedError("no space left on device"); };
  Start();
  Push();
  EXPECT_TRUE(absl::IsResourceExhausted(Stop()));
  EXPECT_FALSE(recorder_->abandoned());
  ExpectExact();
}

TEST_F(FlightRecorderTest, DoesNotTellWhoStopsItOfADumpThatFailedLongAgo) {
  dumps_->on_open = [](int) { return absl::ResourceExhaustedError("no space left on device"); };
  Start();
  Push();
  ASSERT_TRUE(recorder_->Dump("test").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Wait()));
  EXPECT_TRUE(Stop().ok());
  ExpectExact();
}

// They are the next session's.
TEST_F(FlightRecorderTest, DoesNotTakeSignalsThatComeWhileItIsBeingStopped) {
  static FlightBell* const bell = new FlightBell;
  config_.bell = bell;
  const auto entered = std::make_shared<Gate>();
  const auto release = std::make_shared<Gate>();
  config_.catch_up = [entered, release] {
    entered->Open();
    release->Wait();
    return FlightRecorder::CaughtUp();
  };
  Start();
  ASSERT_TRUE(recorder_->Dump("test").ok());
  entered->Wait();
  std::thread stop([this] { EXPECT_TRUE(Stop().ok()); });
  while (!absl::IsFailedPrecondition(recorder_->Dump("too late"))) std::this_thread::yield();
  bell->RingForSignal();
  release->Open();
  stop.join();
  EXPECT_EQ(bell->TakeSignals(), 1u);
}

TEST_F(FlightRecorderTest, TellsWhenItsOwnThreadDoesNotEnd) {
  const auto release = std::make_shared<Gate>();
  config_.catch_up = [release] {
    release->Wait();
    return FlightRecorder::CaughtUp();
  };
  Start();
  Push();
  ASSERT_TRUE(recorder_->Dump("test").ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(recorder_->WaitForDumps(absl::Now() + absl::Milliseconds(20))));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Stop(absl::Milliseconds(20))));
  release->Open();
  // Kept, as its owner must, where leak checkers find it.
  static auto* const kept = new std::vector<std::unique_ptr<FlightRecorder>>;
  kept->push_back(std::move(recorder_));
  while (kept->back()->dumps() < 1) std::this_thread::yield();
}

TEST_F(FlightRecorderTest, IsAskedByManyThreadsAtOnce) {
  config_.flight.dumps = 1'000'000;
  Start();
  std::atomic<bool> done{false};
  std::thread drain([&] {
    while (!done) Push(10);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        EXPECT_TRUE(recorder_->Dump("test").ok());
        if (j % 5 == 0) {
          EXPECT_TRUE(Wait().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  drain.join();
  EXPECT_TRUE(Stop().ok());
  EXPECT_GE(recorder_->dumps(), 1u);
  EXPECT_LE(recorder_->dumps(), 160u);
  ExpectExact();
}

TEST_F(FlightRecorderTest, SaysWhatDoesNotHaveToSurviveAKill) {
  std::vector<uint64_t> settled;
  config_.on_settled = [&](uint64_t batch) { settled.push_back(batch); };
  config_.flight.last_ns = 10;
  Start();
  Push();
  EXPECT_THAT(settled, IsEmpty());
  auto late = MakeBatch(next_id_++);
  late->events[0].end_ns = 100;
  late->sequence = ++sequence_;
  recorder_->Push(late);
  EXPECT_THAT(settled, ElementsAre(1));
  ASSERT_TRUE(recorder_->Dump("test").ok());
  ASSERT_TRUE(Wait().ok());
  EXPECT_THAT(settled, ElementsAre(1));
  recorder_->WantSettled();
  EXPECT_THAT(settled, ElementsAre(1, 2));
  EXPECT_TRUE(Stop().ok());
}

}  // namespace
}  // namespace ferret
