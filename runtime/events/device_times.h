// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The device times of all events of a tree at once: each event is visited once, where FunctionEvent's own functions
// visit its subtree.

#ifndef FERRET_RUNTIME_EVENTS_DEVICE_TIMES_H_
#define FERRET_RUNTIME_EVENTS_DEVICE_TIMES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/events/averaging.h"
#include "runtime/events/tree_walk.h"

namespace ferret {

class DeviceTimes {
 public:
  // Without kernels there is nothing to add up. Otherwise parents have to come before their children, as after Build;
  // if they may not, each event is asked.
  DeviceTimes(const std::vector<FunctionEvent*>& order, bool has_kernels, bool parents_first)
      : ask_events_(!parents_first) {
    if (!has_kernels || ask_events_) return;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const FunctionEvent& event = **at;
      if (!HasChildrensTime(event) || event.cpu_parent == nullptr) continue;
      if (const int64_t total = Total(event); total != 0) AddTo(&of_children_[event.cpu_parent], total);
    }
  }

  int64_t Total(const FunctionEvent& event) const {
    if (event.use_device == DeviceType::kCpu) return 0;
    if (ask_events_ || !HasChildrensTime(event)) return event.device_time_total_ns();
    int64_t total = KernelTime(event);
    if (!SpansChildren(event)) AddTo(&total, OfChildren(event));
    return total;
  }
  int64_t Self(const FunctionEvent& event) const {
    if (event.use_device == DeviceType::kCpu) return 0;
    if (ask_events_ || !HasChildrensTime(event) || !SpansChildren(event)) return event.self_device_time_total_ns();
    return KernelTime(event) - OfChildren(event);
  }

 private:
  static bool HasChildrensTime(const FunctionEvent& event) {
    return event.device_type == DeviceType::kCpu && !event.is_async;
  }
  int64_t OfChildren(const FunctionEvent& event) const {
    const auto found = of_children_.find(&event);
    return found == of_children_.end() ? 0 : found->second;
  }

  const bool ask_events_;
  absl::flat_hash_map<const FunctionEvent*, int64_t> of_children_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_DEVICE_TIMES_H_
