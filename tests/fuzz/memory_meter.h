// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MemoryMeter: what an execution allocates with operator new, in all threads, and what it leaves behind.

#ifndef FERRET_TESTS_FUZZ_MEMORY_METER_H_
#define FERRET_TESTS_FUZZ_MEMORY_METER_H_

#include <cstdint>

namespace ferret::fuzz {

class MemoryMeter {
 public:
  // From here on more than so many bytes at a time, beyond those that are there already, are a finding: on_too_much is
  // called, and does not return.
  static void Begin(uint64_t most_bytes, void (*on_too_much)());
  static void End();

  // Since Begin: the most at a time, and what is left now. Freeing what was there before counts against it.
  static int64_t Most();
  static int64_t Left();
};

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_MEMORY_METER_H_
