// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/window_switch.h"

#include <chrono>
#include <new>
#include <system_error>

#include "ferret/internal/record_format.h"
#include "runtime/record/recorder.h"
#include "runtime/session/schedule.h"
#include "runtime/threads/background_thread.h"
#include "runtime/threads/own_threads.h"

namespace ferret {

using internal::Recorder;
using internal::StepSource;

WindowSwitch& WindowSwitch::Global() {
  static WindowSwitch* const global = new WindowSwitch;
  return *global;
}

bool WindowSwitch::Begin(const Schedule& schedule) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    schedule_ = schedule;
    recording_ = RecordsAt(schedule, 0);
    on_ = schedule.unit != Schedule::Unit::kNone;
    number_due_ = false;
    program_marks_ = false;
    thread_ = 0;
    step_ = calm_from_ = calm_until_ = 0;
  }
  // Before any window, and without the lock: adapters prepare what they need on this thread.
  if (schedule.unit != Schedule::Unit::kNone) step_observers_.Set(true);
  if (schedule.unit == Schedule::Unit::kMilliseconds) {
    const BlockSignalsForNewThread block;
    try {
      by_time_ = std::thread([this] { RunByTime(); });
    } catch (const std::system_error&) {
      std::lock_guard<std::mutex> lock(mutex_);
      on_ = false;
      step_observers_.Set(false);
      return false;
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  recording_observers_.Set(recording_);
  if (on_) internal::SetStepHook(&StepEnded);
  return true;
}

void WindowSwitch::End() {
  internal::SetStepHook(nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    on_ = false;
    ended_.notify_all();
  }
  if (by_time_.joinable()) by_time_.join();
  recording_observers_.Set(false);
  step_observers_.Set(false);
}

void WindowSwitch::AfterForkInChild() {
  // Whatever the parent's threads were doing with them.
  new (&mutex_) std::mutex;
  new (&ended_) std::condition_variable;
  new (&by_time_) std::thread;
  on_ = false;
  recording_observers_.AfterForkInChild();
  step_observers_.AfterForkInChild();
}

bool WindowSwitch::Counts(StepSource source) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const pthread_t self = pthread_self();
  if (source == StepSource::kProgram) {
    // The program's thread counts, also if optimizers were seen on another one before.
    if (!program_marks_.load(kRelaxed)) {
      thread_.store(self, kRelaxed);
      program_marks_.store(true, kRelaxed);
    }
  } else if (program_marks_.load(kRelaxed)) {
    return false;
  }
  pthread_t counting = thread_.load(kRelaxed);
  if (counting == 0 && thread_.compare_exchange_strong(counting, self, kRelaxed)) counting = self;
  return counting == self;
}

void WindowSwitch::OnStep(StepSource source, uint64_t number) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (!Counts(source)) return;
  const uint64_t step = (number == internal::kNextStep ? step_.load(kRelaxed) : number) + 1;
  step_.store(step, kRelaxed);
  if (step >= calm_from_.load(kRelaxed) && step < calm_until_.load(kRelaxed)) return;
  AtStep(step);
}

void WindowSwitch::AtStep(uint64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!on_) return;
  calm_from_ = step;
  if (schedule_.unit == Schedule::Unit::kMilliseconds) {
    if (number_due_ && recording_) internal::RecordStepBegin(step);
    number_due_ = false;
    calm_from_ = 0;
    calm_until_ = kNoSwitch;
    return;
  }
  calm_until_ = NextSwitch(schedule_, step);
  if (RecordsAt(schedule_, step) == recording_) return;
  SwitchTo(!recording_);
  if (recording_) internal::RecordStepBegin(step);
}

void WindowSwitch::SwitchTo(bool record) {
  recording_ = record;
  // Frameworks call back only while it matters: later than recording begins, and until after it has ended.
  record ? Recorder::Resume() : Recorder::Pause();
  recording_observers_.Set(record);
}

void WindowSwitch::RunByTime() {
  using std::chrono::milliseconds;
  pthread_setname_np(pthread_self(), "ferret-schedule");
  Recorder::SuppressThisThread();
  ThisThreadIsFerrets();
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (on_) {
    const auto passed = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start).count();
    const uint64_t now = static_cast<uint64_t>(passed);
    if (RecordsAt(schedule_, now) != recording_) {
      SwitchTo(!recording_);
      number_due_ = recording_;
      calm_until_ = 0;  // the next step looks
    }
    const uint64_t next = NextSwitch(schedule_, now);
    if (next == kNoSwitch) {
      ended_.wait(lock);
    } else {
      ended_.wait_until(lock, start + milliseconds(next));
    }
  }
}

}  // namespace ferret
