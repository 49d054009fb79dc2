// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the test wants of the next calls: failures and hangs. Also counts the calls, since a failure may skip some.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_FAULTS_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_FAULTS_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tests/device/fake_cuda/functions.h"

namespace fake_cuda {

// Every member is called with the driver's mutex held.
class Faults {
 public:
  static constexpr int kAll = kFunctionCount;  // in the place of a function
  static constexpr int64_t kForEver = INT64_MAX;

  void Reset();

  void Fail(int function, int code, int64_t count, int64_t skip);
  void StopFailing();

  void Hang(int function, int count) { plans_[function].hangs += count; }
  void WaitUntilHung(int function, std::unique_lock<std::mutex>& lock);
  int Hung() const { return hung_; }
  void ReleaseHangs();

  // At the head of each call: hangs if it is to hang, with the lock given up meanwhile, and returns the code that it
  // fails with.
  int Enter(Function function, std::unique_lock<std::mutex>& lock);

  uint64_t Calls(int function) const;

 private:
  struct Plan {
    int64_t skip = 0;
    int64_t failures = 0;
    int code = 0;
    int hangs = 0;
    int hung = 0;
    uint64_t calls = 0;
  };

  static int NextCode(Plan& plan);
  void HangHere(Function function, std::unique_lock<std::mutex>& lock);

  std::array<Plan, kFunctionCount + 1> plans_;
  int hung_ = 0;
  uint64_t releases_ = 0;
  std::condition_variable someone_hangs_;
  std::condition_variable released_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_FAULTS_H_
