// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An EventList of what was collected.

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporters/memory/memory_exporter.h"

namespace ferret {
namespace {

// To each scope what it launched. What no scope of the list launched stays an event of its own.
void GiveKernels(EventList* list) {
  absl::flat_hash_map<int64_t, FunctionEvent*> scopes;
  std::vector<const FunctionEvent*> launched;
  for (const FunctionEvent& event : *list) {
    if (event.details == nullptr || event.details->launch == nullptr) continue;
    launched.push_back(&event);
    scopes.emplace(event.details->launch->scope_id, nullptr);
  }
  if (launched.empty()) return;
  for (FunctionEvent& event : *list) {
    if (event.device_type != DeviceType::kCpu) continue;
    const auto scope = scopes.find(event.id);
    if (scope != scopes.end()) scope->second = &event;
  }
  for (const FunctionEvent* event : launched) {
    FunctionEvent* const scope = scopes[event->details->launch->scope_id];
    if (scope == nullptr) continue;
    list->DetailsOf(*scope).kernels.push_back({event->name, event->device_index, event->duration_ns()});
  }
}

}  // namespace

EventList CollectedTrace::ToEventList() const {
  EventList::Config config;
  config.start_ns = info.start_ns;
  const auto is_on = [this](std::string_view variable) {
    return std::any_of(info.options.begin(), info.options.end(),
                       [&](const auto& option) { return option.first == variable && option.second == "1"; });
  };
  config.profile_memory = is_on("FERRET_PROFILE_MEMORY");
  config.with_flops = is_on("FERRET_WITH_FLOPS");
  for (const FunctionEvent& event : events) {
    if (event.device_type != DeviceType::kCpu) config.use_device = event.device_type;
    if (event.use_device != DeviceType::kCpu) config.use_device = event.use_device;
    if (config.use_device != DeviceType::kCpu) break;
  }
  EventList list(config);
  // In the order of their begins: of two events that take up the same time, the outer one comes first.
  std::vector<const FunctionEvent*> order;
  order.reserve(events.size());
  for (const FunctionEvent& event : events) order.push_back(&event);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  for (const FunctionEvent* event : order) list.Add(*event);
  GiveKernels(&list);
  for (const MemoryEvent& event : memory) list.AddMemory(event);
  list.Build();
  return list;
}

}  // namespace ferret
