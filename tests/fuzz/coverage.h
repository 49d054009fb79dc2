// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Coverage: what of the code under test an execution reaches, and how much work it is.
//
// g++ calls __sanitizer_cov_trace_pc in every basic block of what is compiled with -fsanitize-coverage=trace-pc, and
// __sanitizer_cov_trace_cmp* before every comparison of integers. An *edge* is a pair of blocks that ran one after the
// other, a *feature* an edge with about how often it ran. Work is counted in blocks: the same on every machine.
//
// For targets of one thread. This code itself must not be instrumented.

#ifndef FERRET_TESTS_FUZZ_COVERAGE_H_
#define FERRET_TESTS_FUZZ_COVERAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferret::fuzz {

// An edge's number times kFeaturesPerEdge, and the order of magnitude of how often it ran.
using Feature = uint32_t;
inline constexpr uint32_t kFeaturesPerEdge = 8;
inline constexpr uint32_t kEdges = 1 << 18;

// Two integers that were compared and differ.
struct Comparison {
  uint64_t a;
  uint64_t b;
  uint8_t bytes;
};

class Coverage {
 public:
  // An execution begins. More than so many blocks are a finding: on_too_long is called, and does not return.
  static void Begin(uint64_t most_blocks, void (*on_too_long)());
  static void End();

  // Of the execution that ended last.
  static const std::vector<Feature>& Features();
  static uint64_t Blocks();
  // Some of the comparisons in it.
  static const std::vector<Comparison>& Comparisons();
};

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_COVERAGE_H_
