// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which calls a capture forbids. Callers hold the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_CAPTURES_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_CAPTURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/device/fake_cuda/streams.h"
#include "tests/device/fake_cuda/thread_state.h"

namespace fake_cuda {

class Captures {
 public:
  explicit Captures(Streams& streams) : streams_(streams) {}

  int Begin(size_t stream, int mode, const ThreadState& me);
  int End(size_t stream);
  // The stream is going: what it captured is lost.
  void Forget(size_t stream);

  // For calls that are unsafe while captures are on: 0, or 900 and a violation.
  int CheckUnsafe(const ThreadState& me);
  // For calls that wait for a stream or ask whether it is done.
  int CheckWait(size_t stream);
  // For work that is given to a stream: 0 if it runs, kNodeOfGraph if it is captured, or an error.
  static constexpr int kNodeOfGraph = -1;
  int CheckWork(size_t stream);
  // 906 if the stream is the legacy stream and a blocking stream of its context captures. No violation.
  int CheckImplicit(size_t stream) const;

  bool violations_invalidate = true;
  uint64_t violations = 0;
  uint64_t invalidated = 0;

 private:
  bool Forbids(const Capture& capture, const ThreadState& me) const;
  void Violate(Capture& capture);

  Streams& streams_;
  std::vector<size_t> capturing_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_CAPTURES_H_
