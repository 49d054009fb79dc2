// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU's clock as the fake driver sees it: virtual and moved by the test, or a function. Needs no lock: producers of
// a benchmark read it before they queue for the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_CLOCK_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace fake_cuda {

class Clock {
 public:
  int64_t NowNs() const;
  // Moves the virtual clock on; without effect on a real one.
  void AdvanceNs(int64_t ns);
  // Moves the virtual clock to this time unless it is past it; a real one is awaited.
  void WaitUntilNs(int64_t ns);

  void UseVirtual(int64_t now_ns);
  void UseFunction(int64_t (*now_ns)(void* user), void* user);
  void UseMonotonic();

 private:
  struct Source {
    int64_t (*now_ns)(void* user);
    void* user;
  };

  std::atomic<int64_t> virtual_ns_{1'000'000'000};
  // nullptr: virtual. Released by UseFunction, acquired by every reader.
  std::atomic<const Source*> source_{nullptr};
  std::mutex mutex_;
  // Kept for ever: a reader may still be in one.
  std::vector<std::unique_ptr<const Source>> sources_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_CLOCK_H_
