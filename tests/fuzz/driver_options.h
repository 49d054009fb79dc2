// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the driver is asked for. The names of options are libFuzzer's where it has them, so that a command line for one
// does for the other, which passes over those that it does not know.

#ifndef FERRET_TESTS_FUZZ_DRIVER_OPTIONS_H_
#define FERRET_TESTS_FUZZ_DRIVER_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferret::fuzz {

struct DriverOptions {
  uint64_t runs = 0;  // with changed inputs, after the seeds
  uint64_t seed = 1;
  uint64_t most_bytes = 4096;  // of an input, at least
  std::string dictionary;      // a file
  // What one execution may take: so much, and so much for each byte of the input.
  uint64_t most_blocks = 3'000'000;
  uint64_t most_blocks_per_byte = 1000;
  uint64_t most_memory = 2 << 20;
  uint64_t most_memory_per_byte = 64;
  std::string artifacts;  // the folder for findings
  std::string smallest;   // the folder for the corpus in the end, and how many files it may become
  uint64_t most_files = 100;
  std::vector<std::string> seeds;  // files and folders
};

// `arguments` is what follows the program's name, ending with null.
absl::StatusOr<DriverOptions> ParseDriverOptions(const char* const* arguments);

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_DRIVER_OPTIONS_H_
