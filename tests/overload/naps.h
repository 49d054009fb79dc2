// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How long the runtime asks the calling thread to sleep, whatever the machine makes of it; and a clock on which nothing else
// takes any time.
//
// A program that links this has its own nanosleep and clock_gettime in front of the C library's.

#ifndef FERRET_TESTS_OVERLOAD_NAPS_H_
#define FERRET_TESTS_OVERLOAD_NAPS_H_

#include <cstdint>

namespace ferret {

// What was asked for on the calling thread since it started.
int64_t NapNs();
int64_t Naps();

// While it lives, CLOCK_MONOTONIC stands still for the calling thread but for its naps, which take no time.
class VirtualTime {
 public:
  VirtualTime();
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;
};

}  // namespace ferret

#endif  // FERRET_TESTS_OVERLOAD_NAPS_H_
