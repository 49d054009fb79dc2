// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The devices that there are.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_DEVICES_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/device/fake_cuda/gpu_clock.h"

namespace fake_cuda {

struct Device {
  explicit Device(int number, int64_t epoch_ns);

  // Replaces the clock from `now_ns` on.
  GpuClock& NewClock(int64_t now_ns);

  std::string name;
  size_t memory_bytes = size_t{80} << 30;
  std::map<int, int> attributes;
  // The last one stamps; the others are those of earlier events. Their addresses last as long as the device.
  std::deque<GpuClock> clocks;
  void* primary = nullptr;  // the handle, once there was a primary context
  int primary_uses = 0;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_DEVICES_H_
