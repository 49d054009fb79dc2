// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/tree.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/events/tree_walk.h"

namespace ferret {
namespace {

struct Entry {
  uint64_t start;  // after the first of all
  FunctionEvent* event;
};

// A digit of eleven bits a pass: 2048 counters stay in the nearest cache.
constexpr unsigned kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

void RadixSort(std::vector<Entry>* entries, uint64_t largest) {
  std::vector<Entry> other(entries->size());
  for (unsigned shift = 0; shift < 64 && largest >> shift != 0; shift += kDigitBits) {
    std::array<size_t, kDigits> next{};
    for (const Entry& entry : *entries) ++next[entry.start >> shift & (kDigits - 1)];
    size_t begin = 0;
    for (size_t& count : next) begin += std::exchange(count, begin);
    for (const Entry& entry : *entries) other[next[entry.start >> shift & (kDigits - 1)]++] = entry;
    entries->swap(other);
  }
}

bool InTree(const FunctionEvent& event) { return event.device_type == DeviceType::kCpu && !event.is_async; }

}  // namespace

void SortByStart(EventOrder* order, bool ids_by_begin) {
  const auto outer_first = [ids_by_begin](const FunctionEvent* a, const FunctionEvent* b) {
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns;
    return ids_by_begin && a->id < b->id;
  };
  if (order->empty()) return;
  int64_t first = order->front()->start_ns;
  int64_t last = first;
  for (const FunctionEvent* event : *order) {
    first = std::min(first, event->start_ns);
    last = std::max(last, event->start_ns);
  }
  std::vector<Entry> entries;
  entries.reserve(order->size());
  for (FunctionEvent* event : *order) {
    entries.push_back({static_cast<uint64_t>(event->start_ns) - static_cast<uint64_t>(first), event});
  }
  const auto by_start = [](const Entry& a, const Entry& b) { return a.start < b.start; };
  if (!std::is_sorted(entries.begin(), entries.end(), by_start)) {
    RadixSort(&entries, static_cast<uint64_t>(last) - static_cast<uint64_t>(first));
  }
  for (size_t i = 0; i < entries.size(); ++i) (*order)[i] = entries[i].event;
  for (size_t i = 0; i < entries.size();) {
    size_t end = i + 1;
    while (end < entries.size() && entries[end].start == entries[i].start) ++end;
    if (end - i > 1) {
      std::stable_sort(order->begin() + static_cast<std::ptrdiff_t>(i), order->begin() + static_cast<std::ptrdiff_t>(end),
                       outer_first);
    }
    i = end;
  }
}

void LinkTree(const EventOrder& order) {
  // The events of a thread that are not over yet, each inside the one below. Nodes are apart: two of them may have
  // threads of the same number.
  using Lane = std::pair<uint32_t, int64_t>;
  absl::flat_hash_map<Lane, EventOrder> lanes;
  Lane current{};
  EventOrder* open = &lanes[current];
  for (FunctionEvent* event : order) {
    event->cpu_parent = event->last_child = event->next_sibling = nullptr;
    event->parent_id = 0;
    event->self_ns = 0;
    if (!InTree(*event)) continue;
    event->self_ns = event->duration_ns();
    const Lane lane(event->thread, event->details == nullptr ? -1 : event->node_id());
    if (lane != current) {
      current = lane;
      open = &lanes[lane];
    }
    // One that ends before the event does cannot be the parent of a later one either: nothing that starts later is
    // inside of both.
    while (!open->empty() && (event->start_ns >= open->back()->end_ns || event->end_ns > open->back()->end_ns)) {
      open->pop_back();
    }
    if (!open->empty()) {
      FunctionEvent* const parent = open->back();
      AppendChild(parent, event);
      event->cpu_parent = parent;
      event->parent_id = parent->id;
      parent->self_ns -= event->duration_ns();
    }
    open->push_back(event);
  }
}

void RemoveDuplicates(EventOrder* order, EventList* list) {
  // Parents come first, so what a duplicate leaves to its parent has been looked at by nobody yet: one pass does.
  size_t kept = 0;
  for (FunctionEvent* event : *order) {
    FunctionEvent* const parent = event->cpu_parent;
    if (parent == nullptr || !HasOneChild(*parent) || parent->name != event->name) {
      (*order)[kept++] = event;
      continue;
    }
    parent->last_child = event->last_child;
    ForEachChild(*event, [parent](FunctionEvent& child) {
      child.cpu_parent = parent;
      child.parent_id = parent->id;
    });
    parent->self_ns += event->self_ns;
    // The one kernel of a legacy parent spans the child's.
    if (!event->kernels().empty() && !(parent->is_legacy && !parent->kernels().empty())) {
      std::vector<Kernel>& kernels = list->DetailsOf(*parent).kernels;
      kernels.insert(kernels.end(), event->details->kernels.begin(), event->details->kernels.end());
    }
    event->cpu_parent = event->last_child = event->next_sibling = nullptr;
  }
  order->resize(kept);
}

void SetSelfMemory(const EventOrder& order) {
  for (const FunctionEvent* event : order) {
    if (event->details == nullptr) continue;
    event->details->self_cpu_memory_usage = InTree(*event) ? event->details->cpu_memory_usage : 0;
    event->details->self_device_memory_usage = InTree(*event) ? event->details->device_memory_usage : 0;
  }
  for (const FunctionEvent* event : order) {
    const FunctionEvent* const parent = event->cpu_parent;
    if (event->details == nullptr || parent == nullptr || parent->details == nullptr) continue;
    parent->details->self_cpu_memory_usage -= event->details->cpu_memory_usage;
    parent->details->self_device_memory_usage -= event->details->device_memory_usage;
  }
}

}  // namespace ferret
