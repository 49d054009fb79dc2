// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A device's standing figures.
#include "tests/device/fake_cuda/devices.h"

namespace fake_cuda {

Device::Device(int number, int64_t epoch_ns)
    : name("Fake GPU " + std::to_string(number)),
      attributes{
          {1, 1024},      // threads per block
          {8, 49152},     // shared memory per block
          {10, 32},       // warp size
          {12, 65536},    // registers per block
          {13, 1980000},  // clock rate, kHz
          {16, 132},      // multiprocessors
          {33, number},   // PCI bus
          {39, 2048},     // threads per multiprocessor
          {75, 9},        // compute capability, major
          {76, 0},        // and minor
          {81, 233472},   // shared memory per multiprocessor
          {82, 65536},    // registers per multiprocessor
          {97, 232448},   // shared memory per block, opted in
      } {
  GpuClock clock;
  clock.epoch_ns = epoch_ns;
  clocks.push_back(clock);
}

GpuClock& Device::NewClock(int64_t now_ns) {
  clocks.push_back(clocks.back().ContinuedAt(now_ns));
  return clocks.back();
}

}  // namespace fake_cuda
