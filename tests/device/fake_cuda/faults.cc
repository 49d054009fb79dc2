// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Failures and hangs.
#include "tests/device/fake_cuda/faults.h"

namespace fake_cuda {

void Faults::Reset() {
  ReleaseHangs();
  // Who hangs wakes up later and takes itself off; everything else starts anew.
  for (Plan& plan : plans_) {
    const int hung = plan.hung;
    plan = Plan{};
    plan.hung = hung;
  }
}

void Faults::Fail(int function, int code, int64_t count, int64_t skip) {
  plans_[function].skip = skip;
  plans_[function].failures = count;
  plans_[function].code = code;
}

void Faults::StopFailing() {
  for (Plan& plan : plans_) plan.failures = 0;
}

void Faults::WaitUntilHung(int function, std::unique_lock<std::mutex>& lock) {
  someone_hangs_.wait(lock, [&] { return function == kAll ? hung_ > 0 : plans_[function].hung > 0; });
}

void Faults::ReleaseHangs() {
  for (Plan& plan : plans_) plan.hangs = 0;
  ++releases_;
  released_.notify_all();
}

int Faults::Enter(Function function, std::unique_lock<std::mutex>& lock) {
  Plan& own = plans_[function];
  Plan& all = plans_[kAll];
  ++own.calls;
  if (own.hangs > 0 || all.hangs > 0) {
    --(own.hangs > 0 ? own : all).hangs;
    HangHere(function, lock);
  }
  const int code = NextCode(own);
  return code != 0 ? code : NextCode(all);
}

void Faults::HangHere(Function function, std::unique_lock<std::mutex>& lock) {
  ++plans_[function].hung;
  ++hung_;
  someone_hangs_.notify_all();
  released_.wait(lock, [&, before = releases_] { return releases_ != before; });
  --plans_[function].hung;
  --hung_;
}

int Faults::NextCode(Plan& plan) {
  if (plan.failures == 0) return 0;
  if (plan.skip > 0) {
    --plan.skip;
    return 0;
  }
  if (plan.failures != kForEver) --plan.failures;
  return plan.code;
}

uint64_t Faults::Calls(int function) const {
  if (function != kAll) return plans_[function].calls;
  uint64_t calls = 0;
  for (const Plan& plan : plans_) calls += plan.calls;
  return calls;
}

}  // namespace fake_cuda
