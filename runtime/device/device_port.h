// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DevicePort: where the drain hands in pairs of marks, and gets back where they lie. It waits for nothing.

#ifndef FERRET_RUNTIME_DEVICE_DEVICE_PORT_H_
#define FERRET_RUNTIME_DEVICE_DEVICE_PORT_H_

#include <cstdint>
#include <vector>

#include "ferret/device_loss.h"
#include "ferret/event_batch.h"
#include "runtime/device/pair_placement.h"

namespace ferret::internal {

struct PairResult {
  uint64_t token = 0;
  bool timed = false;
  DeviceLoss reason = DeviceLoss::kAbandonedAtStop;  // if it is not timed
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t error_ns = 0;
  int16_t device_index = 0;
  int32_t stream = 0;
  int64_t shown_domain = 0;
};

struct DeviceOutput {
  std::vector<PairResult> results;
  std::vector<DeviceInfo> devices;  // each once
  std::vector<StreamInfo> streams;
  bool empty() const { return results.empty() && devices.empty() && streams.empty(); }
};

class DevicePort {
 public:
  virtual ~DevicePort() = default;
  // Once in each pass of the drain: starts what the program turned out to need.
  virtual void Pump() = 0;
  // Empties the vector.
  virtual void Submit(std::vector<SubmittedPair>* pairs) = 0;
  // Everything that came to be known since the last call.
  virtual DeviceOutput Take() = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_PORT_H_
