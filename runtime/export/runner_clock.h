// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// RunnerClock: time as an exporter's runner sees it. Tests put a clock in its place that they move by hand.
//
// Monotonic, so that a step of the wall clock neither delays a flush nor cuts a deadline short.

#ifndef FERRET_RUNTIME_EXPORT_RUNNER_CLOCK_H_
#define FERRET_RUNTIME_EXPORT_RUNNER_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace ferret {

class RunnerClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  constexpr RunnerClock() = default;
  virtual ~RunnerClock() = default;

  virtual Time Now() { return std::chrono::steady_clock::now(); }

  // Returns when notified, when the deadline has passed, or for no reason.
  virtual void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Time deadline) {
    condition.wait_until(lock, deadline);
  }

  // The moment that lies as far ahead as `deadline` does on the wall clock; a year ahead stands for ever.
  Time At(absl::Time deadline) { return Now() + Bounded(deadline - absl::Now()); }
  Time After(absl::Duration duration) { return Now() + Bounded(duration); }
  absl::Time ToWallClock(Time time) { return absl::Now() + absl::FromChrono(time - Now()); }

 private:
  static std::chrono::nanoseconds Bounded(absl::Duration duration) {
    return absl::ToChronoNanoseconds(std::clamp(duration, absl::ZeroDuration(), absl::Hours(24 * 365)));
  }
};

RunnerClock* RealRunnerClock();

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_RUNNER_CLOCK_H_
