// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the drain executes for an event: one pass over chunks full of records, by hand, without its thread.

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "ferret/scope.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/drain/drain.h"
#include "runtime/record/recorder.h"
#include "tests/instructions/work.h"

namespace ferret {
namespace {

using internal::Drain;
using internal::Recorder;

constexpr int kEvents = 20'000;
constexpr int kOpsInStep = 500;

void RecordNested() {
  for (int i = 0; i < kEvents / 2; ++i) {
    FERRET_SCOPE("outer");
    FERRET_SCOPE("inner");
  }
}

// Forward ops and, in reverse, their backward ops: every event is linked.
void RecordLinked() {
  static int64_t number = 0;
  const uint32_t thread = ThreadId();
  for (int step = 0; step < kEvents / (2 * kOpsInStep); ++step) {
    for (int i = 0; i < kOpsInStep; ++i) { FERRET_OP_SCOPE("forward", ForwardOp(number + i)); }
    for (int i = kOpsInStep; i-- > 0;) { FERRET_OP_SCOPE("backward", BackwardOp(number + i, thread)); }
    number += kOpsInStep;
  }
}

// Counts, and hands the same memory out again.
class OneBatch final : public internal::BatchSink {
 public:
  std::shared_ptr<EventBatch> NewBatch() override {
    std::shared_ptr<EventBatch> batch = std::move(spare_);
    if (batch == nullptr) return std::make_shared<EventBatch>();
    batch->Clear();
    return batch;
  }
  void Push(std::shared_ptr<EventBatch> batch) override {
    events += batch->events.size();
    spare_ = std::move(batch);
  }

  uint64_t events = 0;

 private:
  std::shared_ptr<EventBatch> spare_;
};

class OnePass final : public Work {
 public:
  explicit OnePass(void (*record)()) : record_(record) {}
  ~OnePass() override {
    Recorder::Stop();
    drain_->Finish(ReadTicks(true));
  }

  void Prepare() override {
    Recorder* const recorder = Recorder::Create({});
    if (recorder == nullptr) std::abort();
    recorder->Start(true);
    drain_ = std::make_unique<Drain>(internal::EventBuilder::Config{}, recorder, &clock_, &sink_);
    for (int i = 0; i < 3; ++i) {
      record_();
      drain_->Pass(ReadTicks(true));
    }
    record_();
    sink_.events = 0;
    now_ = ReadTicks(true);
  }
  void Run() override {
    drain_->Pass(now_);
    if (sink_.events != kEvents) std::abort();
  }
  int64_t units() const override { return kEvents; }

 private:
  void (*const record_)();
  // A round number of ticks each nanosecond, from a round moment on: the same on every machine.
  const ClockMap clock_{Anchor{0, 1'700'000'000'000'000'000}, 0.5};
  OneBatch sink_;
  std::unique_ptr<Drain> drain_;
  uint64_t now_ = 0;
};

}  // namespace

std::unique_ptr<Work> DrainWork(std::string_view name) {
  if (name == "drain_plain") return std::make_unique<OnePass>(&RecordNested);
  if (name == "drain_linked") return std::make_unique<OnePass>(&RecordLinked);
  return nullptr;
}

}  // namespace ferret
