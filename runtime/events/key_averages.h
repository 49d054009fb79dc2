// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// KeyAverages: adds function events up by key, one at a time; the accumulator behind key_averages(). Keeps nothing of
// an event, so it can be fed from batches: its memory grows with the number of keys only.

#ifndef FERRET_RUNTIME_EVENTS_KEY_AVERAGES_H_
#define FERRET_RUNTIME_EVENTS_KEY_AVERAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ferret/event_batch.h"
#include "ferret/function_event_avg.h"

namespace ferret {

class KeyAverages {
 public:
  static constexpr size_t kLeftOut = SIZE_MAX;

  // At most max_rows rows: events of further keys are left out.
  explicit KeyAverages(const AverageOptions& options = {}, size_t max_rows = kLeftOut);

  // The event's self_ns must be right. Returns the index of its row, kLeftOut if the event is left out. Costs a
  // comparison of names for an event without details, and a look at the details of one that has them.
  size_t Add(const FunctionEvent& event);
  // For a caller that knows the device times of a tree and spares the visit of the event's subtree.
  size_t Add(const FunctionEvent& event, int64_t device_total_ns, int64_t self_device_ns);

  // Device time of events that were added before, or are to come: until one does, the row has a count of 0.
  size_t AddDeviceTime(const DeviceTimeShare& share);

  // In the order in which the keys first came. Without percentages, see FillPercentages.
  const std::vector<FunctionEventAvg>& rows() const { return rows_; }
  std::vector<FunctionEventAvg> TakeRows();

 private:
  // What a row was last found by: an address may since hold another name, so the name is compared as well.
  struct Recent {
    const char* name = nullptr;
    size_t row = kLeftOut;
  };
  static constexpr size_t kRecent = 4096;

  size_t RowOf(const FunctionEvent& event);
  size_t RowOfPlain(const FunctionEvent& event);
  size_t FindOrMake(const FunctionEvent& event);
  // Everything but the name that a row is chosen by, into key_.
  void AppendGroup(const FunctionEvent& event);

  const AverageOptions options_;
  const size_t max_rows_;
  std::vector<FunctionEventAvg> rows_;
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<Recent> recent_;
  std::string key_;
};

// The shares of all rows in the sums that a table has under it.
void FillPercentages(std::vector<FunctionEventAvg>* rows);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_KEY_AVERAGES_H_
