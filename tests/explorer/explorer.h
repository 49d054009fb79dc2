// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Explore: runs a program in every way in which its threads can interleave and its loads can turn out.
//
// Depth-first and stateless: each execution starts over, repeats the choices of the last one up to the deepest that has
// an alternative left, and takes that. What is left out is only what cannot show anything new:
//
//   - A store is executed at once. Loads that other threads do later may still read what was there before, so doing
//     the load first shows nothing else. (Not if several threads store to the location in an order that nothing
//     fixes, nor for seq_cst.) The same goes for a push and the pops after it.
//   - An operation that no ready thread can disturb is executed without trying others first.
//   - Sleep sets: after all that may follow from letting thread A go first was seen, letting B go first is of interest
//     only until B does something that matters to what A is about to do; and if that is a load and B stored, only for
//     A's reading what is new.
//
// `reduce = false` does without all three, to check them on small programs.

#ifndef FERRET_TESTS_EXPLORER_EXPLORER_H_
#define FERRET_TESTS_EXPLORER_EXPLORER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/explorer/execution.h"

namespace ferret::explorer {

using MakeProgram = std::function<std::unique_ptr<Program>(Execution&)>;

struct Options {
  bool reduce = true;
  // This release or acquire becomes relaxed.
  std::optional<Site> weak;
  uint64_t max_executions = UINT64_MAX;
  // After the first failure so many executions more are made, in search of a shorter schedule.
  uint64_t executions_after_failure = 0;
};

struct Result {
  bool exhausted = false;       // there is no other execution
  uint64_t executions = 0;      // complete ones
  uint64_t abandoned = 0;       // whose rest would have been a repetition
  uint64_t states = 0;          // different sequences of operations from the start
  uint64_t choices = 0;         // of those states, where there was a choice
  size_t longest = 0;           // operations
  std::set<uint64_t> different;  // executions, by fingerprint
  std::map<std::string, uint64_t> outcomes;
  std::set<Site> sites;
  // Failures.
  uint64_t failures = 0;
  uint64_t first_failure = 0;  // the number of the execution, from 1
  std::string failure;
  std::string shortest;  // schedule of a failure
  size_t shortest_length = 0;

  // In words, for the logs.
  std::string Numbers() const;
  std::string Findings() const;
};

Result Explore(const Options& options, const MakeProgram& make);

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_EXPLORER_H_
