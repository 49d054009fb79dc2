// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Mutator: makes an input of others. The same seed makes the same inputs, on every machine.

#ifndef FERRET_TESTS_FUZZ_MUTATOR_H_
#define FERRET_TESTS_FUZZ_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/fuzz/coverage.h"

namespace ferret::fuzz {

// A dictionary in libFuzzer's form: lines of "text" in quotes, with \xNN, \\ and \" in it, maybe after name=; lines that
// begin with # say nothing.
absl::StatusOr<std::vector<std::string>> ParseDictionary(absl::string_view text);

class Mutator {
 public:
  Mutator(uint64_t seed, size_t most_bytes, std::vector<std::string> dictionary)
      : random_(seed), most_bytes_(most_bytes), dictionary_(std::move(dictionary)) {}

  // Below limit, which is not 0.
  size_t Below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  // Changes `input` in a few places; `other` is one to take pieces of, and `compared` what executing `input` compares.
  void Mutate(std::string* input, const std::string& other, const std::vector<Comparison>& compared);

 private:
  void ChangeOnce(std::string* input, const std::string& other, const std::vector<Comparison>& compared);
  void ReplaceCompared(std::string* input, const std::vector<Comparison>& compared);
  void ReplaceNumber(std::string* input);
  void ReplaceDecimal(std::string* input);
  void InsertText(std::string* input, absl::string_view text);

  std::mt19937_64 random_;
  const size_t most_bytes_;
  const std::vector<std::string> dictionary_;
};

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_MUTATOR_H_
