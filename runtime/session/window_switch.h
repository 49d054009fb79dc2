// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// WindowSwitch: turns recording on and off as the session's schedule says, and tells the observers.
//
//     Step() / optimizer's end ──► OnStep ──► same stretch: count, return
//                                        └──► a switch: under the lock, on the thread that ended the step
//     a thread of its own (schedules by time) ─┘
//
// Which thread's steps count, and that a program's own steps make those of optimizers count no more, follows the same
// rules as the numbers of the slices (runtime/drain/step_tracker.h).

#ifndef FERRET_RUNTIME_SESSION_WINDOW_SWITCH_H_
#define FERRET_RUNTIME_SESSION_WINDOW_SWITCH_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "ferret/schedule.h"
#include "runtime/record/steps.h"
#include "runtime/session/observer_list.h"

namespace ferret {

class WindowSwitch {
 public:
  // Never destroyed: a late thread may still end a step.
  static WindowSwitch& Global();

  // A session has started, its recorder paused unless the schedule records from the first step on. False when no thread
  // can be had; nothing has happened then. The caller holds the session lock, here and in End.
  bool Begin(const Schedule& schedule);
  // Nothing is switched any more when it returns. Recording may be on.
  void End();

  // Told when recording goes on and off, and when steps begin and cease to be counted.
  ObserverList& recording_observers() { return recording_observers_; }
  ObserverList& step_observers() { return step_observers_; }

  void AfterForkInChild();

 private:
  WindowSwitch() = default;

  static void StepEnded(internal::StepSource source, uint64_t number) { Global().OnStep(source, number); }
  void OnStep(internal::StepSource source, uint64_t number);
  bool Counts(internal::StepSource source);
  void AtStep(uint64_t step);
  void SwitchTo(bool record);
  void RunByTime();

  std::mutex mutex_;  // guards the plain members that follow
  std::condition_variable ended_;
  bool on_ = false;
  bool recording_ = false;
  // In a schedule by time nobody but the stepping thread knows which step runs when a window begins.
  bool number_due_ = false;
  Schedule schedule_;
  std::thread by_time_;  // of Begin and End

  // Relaxed: written by the thread whose steps count, or under the lock.
  std::atomic<bool> program_marks_{false};
  std::atomic<pthread_t> thread_{0};
  std::atomic<uint64_t> step_{0};  // the one that runs
  // Steps that change nothing: from, and before. None if both are equal.
  std::atomic<uint64_t> calm_from_{0};
  std::atomic<uint64_t> calm_until_{0};

  ObserverList recording_observers_;
  ObserverList step_observers_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_WINDOW_SWITCH_H_
