// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A device's clock over a span of the CPU's time. A value: who changes a device's drift gives the device a new one,
// which goes on where the old one was, and events keep the one that stamps them.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_GPU_CLOCK_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_GPU_CLOCK_H_

#include <cstdint>

namespace fake_cuda {

struct GpuClock {
  int64_t epoch_ns = 0;   // the CPU's time ...
  int64_t offset_ns = 0;  // ... at which this is the device's, but for the wander
  double ppm = 0;
  double (*wander_ns)(void* user, int64_t now_ns) = nullptr;
  void* user = nullptr;
  int64_t granularity_ns = 500;

  // The device's time without wander and quantisation.
  int64_t SteadyNs(int64_t now_ns) const;
  // What an event is stamped with at `now_ns`. Calls `wander_ns`: hold no lock.
  int64_t StampNs(int64_t now_ns) const;
  // The same clock from `now_ns` on.
  GpuClock ContinuedAt(int64_t now_ns) const;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_GPU_CLOCK_H_
