// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Batches as a drain could make them, at random: nested scopes of several threads, backward ops, kernels, instants,
// allocations, with names and numbers as hostile as can be. The same seed makes the same run. Names live as long as it.

#ifndef FERRET_TESTS_OTLP_RANDOM_RUN_H_
#define FERRET_TESTS_OTLP_RANDOM_RUN_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ferret/event_batch.h"

namespace ferret::otlp {

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {}

  // Every parent, forward op and launching scope is in this batch or in one before it, or will be in a later one; after
  // the last one nothing is missing.
  std::vector<std::unique_ptr<EventBatch>> Batches(int count, int events_each);

 private:
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  int64_t AnyInt();
  double AnyDouble();
  std::string AnyText(size_t longest);
  void AddScopes(EventBatch* batch, int64_t parent, int32_t os_tid, int64_t from_ns, int64_t to_ns, int depth, int* left);
  void Describe(EventBatch* batch, FunctionEvent* event);
  void AddMoments(EventBatch* batch);

  std::mt19937_64 random_;
  int64_t next_id_ = 1;
  std::vector<int64_t> forwards_;
  std::vector<std::string> table_;  // names with an id
};

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_RANDOM_RUN_H_
