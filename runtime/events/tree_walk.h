// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The ring of an event's children. A ring is named by its last member, so that appending and starting at the first are
// both one step.

#ifndef FERRET_RUNTIME_EVENTS_TREE_WALK_H_
#define FERRET_RUNTIME_EVENTS_TREE_WALK_H_

#include <cstdint>
#include <string_view>

#include "ferret/function_event.h"

namespace ferret {

// In the order of their starts. The visitor may not relink the child it is given.
template <typename Visit>
void ForEachChild(const FunctionEvent& parent, Visit visit) {
  if (parent.last_child == nullptr) return;
  FunctionEvent* child = parent.last_child;
  do {
    child = child->next_sibling;
    visit(*child);
  } while (child != parent.last_child);
}

inline bool HasOneChild(const FunctionEvent& parent) {
  return parent.last_child != nullptr && parent.last_child->next_sibling == parent.last_child;
}

inline void AppendChild(FunctionEvent* parent, FunctionEvent* child) {
  if (parent->last_child == nullptr) {
    child->next_sibling = child;
  } else {
    child->next_sibling = parent->last_child->next_sibling;
    parent->last_child->next_sibling = child;
  }
  parent->last_child = child;
}

inline int64_t KernelTime(const FunctionEvent& event) {
  int64_t total = 0;
  if (event.details == nullptr) return total;
  for (const Kernel& kernel : event.details->kernels) total += kernel.duration_ns;
  return total;
}

// Whether the event's own kernels are one pair of marks around all that it and its children launched. A legacy event
// without kernels, whose pair gave no time, has what its children have.
inline bool SpansChildren(const FunctionEvent& event) { return event.is_legacy && !event.kernels().empty(); }

// Upper case, as in a table's header.
constexpr std::string_view DeviceName(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu: return "CPU";
    case DeviceType::kCuda: return "CUDA";
    case DeviceType::kXpu: return "XPU";
    case DeviceType::kHpu: return "HPU";
    case DeviceType::kMtia: return "MTIA";
    case DeviceType::kPrivateUse1: return "PRIVATEUSE1";
  }
  return "DEVICE";
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_TREE_WALK_H_
