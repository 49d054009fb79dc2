// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/coverage.h"

// The first byte of the program, from the linker: places of code are counted from there, for the kernel chooses it.
extern "C" const char __executable_start;

namespace ferret::fuzz {
namespace {

constexpr size_t kMostComparisons = 256;

// Plain data, ready before any constructor runs: instrumented code may run in one.
bool active = false;
uint32_t previous = 0;
uint64_t blocks = 0;
uint64_t blocks_left = 0;
void (*on_too_long)() = nullptr;
uint8_t counts[kEdges];
uint32_t reached[kEdges];
size_t reached_count = 0;
Comparison compared[kMostComparisons];
uint64_t compared_count = 0;
uint64_t dice = 0;

uint32_t Magnitude(uint8_t count) {
  if (count < 4) return count - 1u;
  if (count < 8) return 3;
  if (count < 16) return 4;
  if (count < 32) return 5;
  return count < 128 ? 6 : 7;
}

inline void OnBlock(uint64_t place) {
  if (!active) return;
  if (blocks_left-- == 0) {
    active = false;
    on_too_long();
  }
  const auto here = static_cast<uint32_t>(place * 0x9e3779b97f4a7c15u >> 46);
  const uint32_t edge = here ^ previous;
  previous = here >> 1;
  uint8_t& count = counts[edge];
  if (count == 0) reached[reached_count++] = edge;
  if (count != 255) ++count;
}

// A sample: each has the same chance to be in it.
inline void OnComparison(uint64_t a, uint64_t b, uint8_t bytes) {
  if (!active || a == b) return;
  uint64_t place = compared_count++;
  if (place >= kMostComparisons) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    place = (dice >> 33) % compared_count;
    if (place >= kMostComparisons) return;
  }
  compared[place] = {a, b, bytes};
}

std::vector<Feature>& MutableFeatures() {
  static auto* const features = new std::vector<Feature>;
  return *features;
}

std::vector<Comparison>& MutableComparisons() {
  static auto* const comparisons = new std::vector<Comparison>;
  return *comparisons;
}

}  // namespace

void Coverage::Begin(uint64_t most_blocks, void (*too_long)()) {
  for (size_t i = 0; i < reached_count; ++i) counts[reached[i]] = 0;
  reached_count = 0;
  compared_count = 0;
  dice = 0;
  previous = 0;
  blocks = most_blocks;
  blocks_left = most_blocks;
  on_too_long = too_long;
  active = true;
}

void Coverage::End() {
  active = false;
  blocks -= blocks_left;
  std::vector<Feature>& features = MutableFeatures();
  features.clear();
  for (size_t i = 0; i < reached_count; ++i) {
    features.push_back(reached[i] * kFeaturesPerEdge + Magnitude(counts[reached[i]]));
  }
  const size_t kept = compared_count < kMostComparisons ? compared_count : kMostComparisons;
  MutableComparisons().assign(compared, compared + kept);
}

const std::vector<Feature>& Coverage::Features() { return MutableFeatures(); }
uint64_t Coverage::Blocks() { return blocks; }
const std::vector<Comparison>& Coverage::Comparisons() { return MutableComparisons(); }

}  // namespace ferret::fuzz

// What the compiler calls. The last argument of a switch: how many cases, how many bits, then the cases.
#define FERRET_ENTRY extern "C" __attribute__((visibility("default"))) void

FERRET_ENTRY __sanitizer_cov_trace_pc() {
  ferret::fuzz::OnBlock(reinterpret_cast<uint64_t>(__builtin_return_address(0)) -
                        reinterpret_cast<uint64_t>(&__executable_start));
}
FERRET_ENTRY __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b) { ferret::fuzz::OnComparison(a, b, 1); }
FERRET_ENTRY __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { ferret::fuzz::OnComparison(a, b, 2); }
FERRET_ENTRY __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { ferret::fuzz::OnComparison(a, b, 4); }
FERRET_ENTRY __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { ferret::fuzz::OnComparison(a, b, 8); }
FERRET_ENTRY __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b) { ferret::fuzz::OnComparison(a, b, 1); }
FERRET_ENTRY __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { ferret::fuzz::OnComparison(a, b, 2); }
FERRET_ENTRY __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { ferret::fuzz::OnComparison(a, b, 4); }
FERRET_ENTRY __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { ferret::fuzz::OnComparison(a, b, 8); }
FERRET_ENTRY __sanitizer_cov_trace_cmpf(float, float) {}
FERRET_ENTRY __sanitizer_cov_trace_cmpd(double, double) {}
FERRET_ENTRY __sanitizer_cov_trace_switch(uint64_t value, const uint64_t* cases) {
  for (uint64_t i = 0; i < cases[0] && i < 8; ++i) {
    ferret::fuzz::OnComparison(value, cases[2 + i], static_cast<uint8_t>(cases[1] / 8));
  }
}
