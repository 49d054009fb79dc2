// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// From the CPU's time to a device's.
#include "tests/device/fake_cuda/gpu_clock.h"

#include <cmath>

namespace fake_cuda {

int64_t GpuClock::SteadyNs(int64_t now_ns) const {
  const int64_t age_ns = now_ns - epoch_ns;
  return offset_ns + age_ns + std::llround(static_cast<double>(age_ns) * ppm * 1e-6);
}

int64_t GpuClock::StampNs(int64_t now_ns) const {
  int64_t time_ns = SteadyNs(now_ns);
  if (wander_ns != nullptr) time_ns += std::llround(wander_ns(user, now_ns));
  if (granularity_ns <= 1) return time_ns;
  const int64_t rest = time_ns % granularity_ns;
  return time_ns - (rest < 0 ? rest + granularity_ns : rest);
}

GpuClock GpuClock::ContinuedAt(int64_t now_ns) const {
  GpuClock next = *this;
  next.epoch_ns = now_ns;
  next.offset_ns = SteadyNs(now_ns);
  return next;
}

}  // namespace fake_cuda
