// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads that record as fast as they can, for a while, into a session whose drain cannot keep up and that has an exporter
// that takes one batch in a hundred; and what became of everything.

#ifndef FERRET_TESTS_OVERLOAD_OVERLOAD_RUN_H_
#define FERRET_TESTS_OVERLOAD_OVERLOAD_RUN_H_

#include <array>
#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "ferret/loss.h"
#include "runtime/export/exporter_queue.h"
#include "runtime/session/options.h"

namespace ferret {

// Durations in ticks, in buckets an eighth of a power of two wide.
class TickHistogram {
 public:
  void Add(uint64_t ticks) { ++counts_[BucketOf(ticks)]; }
  void Add(const TickHistogram& other);
  uint64_t count() const;
  // The upper end of the bucket in which this share of the durations ends.
  uint64_t Quantile(double share) const;

 private:
  static size_t BucketOf(uint64_t ticks);
  static uint64_t EndOf(size_t bucket);
  std::array<uint64_t, 8 * 64> counts_{};
};

struct OverloadResult {
  std::map<uint32_t, uint64_t> attempts;  // by thread
  std::map<uint32_t, LossCounts> lost;    // while recording
  std::map<uint32_t, uint64_t> seen;      // by the exporter that takes everything it gets
  ExporterCounts all;                     // of that one
  ExporterCounts slow;                    // of the one that takes a hundredth
  uint64_t batches = 0;                   // that the fast one got while threads recorded
  uint64_t slow_batches = 0;              // that the slow one took until then
  TickHistogram scopes;                   // how long one took the thread that recorded it
  double ns_per_tick = 0;
  int64_t longest_nap_ns = 0;             // that the runtime asked for within one scope
  int64_t resident_before = 0;            // bytes of the process
  int64_t resident_warm = 0;              // after a third of the time
  int64_t resident_most = 0;
};

OverloadResult RunOverloaded(const Options& options, int threads, absl::Duration duration);

}  // namespace ferret

#endif  // FERRET_TESTS_OVERLOAD_OVERLOAD_RUN_H_
