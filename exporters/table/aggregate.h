// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Aggregate: key_averages of a run of any length, with percentiles, in bounded memory.
//
// The keys and the rows are those of KeyAverages. An event without details is the common one, and costs a look at an
// array, the line of its row's sums and a line of the row's histogram: no hashing, no comparison of names.
//
//     name_id × annotation ──► Stats: count, sums, max, histogram        (events without details)
//     anything else ──► KeyAverages ──► row and its Stats                (details, devices, names that are in no table)
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_TABLE_AGGREGATE_H_
#define FERRET_EXPORTERS_TABLE_AGGREGATE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "exporters/table/duration_histogram.h"
#include "ferret/event_batch.h"
#include "ferret/function_event_avg.h"
#include "runtime/events/key_averages.h"

namespace ferret::table {

// A key's events. The sums are those of events that KeyAverages has not seen.
//
// A line, and the histogram elsewhere: the lines of all rows are side by side. With the histograms between them, 88 lines
// from one to the next, the rows of a hundred names would share an eighth of the first cache and push each other out.
struct alignas(64) Stats {
  int64_t count = 0;
  int64_t cpu_ns = 0;
  int64_t self_ns = 0;
  int64_t max_ns = 0;
  const std::unique_ptr<DurationHistogram> durations = std::make_unique<DurationHistogram>();  // of all events of the key

  void AddDuration(int64_t ns) {
    max_ns = max_ns < ns ? ns : max_ns;
    durations->Add(ns);
  }
};
static_assert(sizeof(Stats) == 64);

// A key as it is shown.
struct Row {
  FunctionEventAvg average;
  int64_t p50_ns = 0;
  int64_t p95_ns = 0;
  int64_t p99_ns = 0;
  int64_t max_ns = 0;
  const DurationHistogram* durations = nullptr;  // lives as long as the Aggregate
};

class Aggregate {
 public:
  // The key of the row that has the events of all keys for which there was no room.
  static constexpr char kOtherKey[] = "(other)";

  Aggregate(const AverageOptions& options, size_t max_keys);

  void Add(const FunctionEvent& event) {
    const size_t slot = size_t{event.name_id} << 1 | size_t{event.is_user_annotation};
    const bool plain = event.details == nullptr && event.device_type == DeviceType::kCpu && !event.is_legacy;
    if (__builtin_expect(plain && slot < plain_.size() && plain_[slot] != nullptr, 1)) {
      Stats& stats = *plain_[slot];
      ++stats.count;
      stats.cpu_ns += event.duration_ns();
      stats.self_ns += event.self_cpu_time_total_ns();
      stats.AddDuration(event.duration_ns());
      return;
    }
    AddSlowly(event, plain ? slot : 0);
  }

  // What follows in memory behind `event`, as in a batch, is on its way to the cache when it is needed. That a batch, which
  // another thread has written, comes from far away is most of what an event costs; past the end of it nothing is read.
  static void Expect(const FunctionEvent& event) {
    const auto ahead = reinterpret_cast<uintptr_t>(&event) + kAhead * sizeof(FunctionEvent);
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + 64));
  }

  // Of scopes that were added before, or that are to come. A key of which nothing comes, because the queue in front of
  // the exporter dropped its events, has a row with a count of 0.
  void AddDeviceTime(const DeviceTimeShare& share);

  uint64_t events() const;
  size_t keys() const { return stats_.size(); }
  // Events whose key found no room.
  uint64_t other_events() const { return static_cast<uint64_t>(other_average_.count); }
  // In the order in which the keys first came, the other keys' row last, if there is one. With percentages.
  std::vector<Row> Rows() const;

 private:
  static constexpr size_t kAhead = 16;

  void AddSlowly(const FunctionEvent& event, size_t plain_slot);
  // Rows come one at a time.
  Stats* StatsOf(size_t row) {
    if (row == stats_.size()) stats_.emplace_back();
    return &stats_[row];
  }

  KeyAverages averages_;
  std::deque<Stats> stats_;     // of each row of averages_; they stay where they are
  std::vector<Stats*> plain_;   // by name id and whether it is an annotation
  FunctionEventAvg other_average_;
  Stats other_;
  DeviceType use_device_ = DeviceType::kCpu;  // of any event so far
};

}  // namespace ferret::table

#endif  // FERRET_EXPORTERS_TABLE_AGGREGATE_H_
