// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/tree.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/events/averaging.h"
#include "runtime/events/tree_walk.h"

namespace ferret {
namespace {

struct ByStart {
  bool ids_by_begin;

  bool operator()(const FunctionEvent* a, const FunctionEvent* b) const {
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns;
    return ids_by_begin && a->id < b->id;
  }
};

// Stable. Moves each event back over those that come after it. False, with the work half done, if that takes more than
// so many moves.
bool InsertionSort(EventOrder* order, const ByStart& before, size_t moves) {
  for (size_t i = 1; i < order->size(); ++i) {
    FunctionEvent* const event = (*order)[i];
    size_t at = i;
    for (; at > 0 && before(event, (*order)[at - 1]); --at) (*order)[at] = (*order)[at - 1];
    (*order)[at] = event;
    if (i - at > moves) return false;
    moves -= i - at;
  }
  return true;
}

struct Entry {
  uint64_t start;  // after the first of all
  FunctionEvent* event;
};

// A digit of eight bits a pass: more would need more pages at a time than a processor has at hand.
constexpr unsigned kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// Stable, linear; by start only.
void RadixSort(EventOrder* order) {
  const auto [first, last] = std::minmax_element(order->begin(), order->end(), [](const auto* a, const auto* b) {
    return a->start_ns < b->start_ns;
  });
  const uint64_t smallest = static_cast<uint64_t>((*first)->start_ns);
  const uint64_t span = static_cast<uint64_t>((*last)->start_ns) - smallest;
  std::vector<Entry> entries;
  entries.reserve(order->size());
  for (FunctionEvent* event : *order) entries.push_back({static_cast<uint64_t>(event->start_ns) - smallest, event});
  std::vector<Entry> other(entries.size());
  for (unsigned shift = 0; shift < 64 && span >> shift != 0; shift += kDigitBits) {
    std::array<size_t, kDigits> next{};
    for (const Entry& entry : entries) ++next[entry.start >> shift & (kDigits - 1)];
    size_t begin = 0;
    for (size_t& count : next) begin += std::exchange(count, begin);
    for (const Entry& entry : entries) other[next[entry.start >> shift & (kDigits - 1)]++] = entry;
    entries.swap(other);
  }
  for (size_t i = 0; i < entries.size(); ++i) (*order)[i] = entries[i].event;
}

bool InTree(const FunctionEvent& event) { return event.device_type == DeviceType::kCpu && !event.is_async; }

}  // namespace

void SortByStart(EventOrder* order, bool ids_by_begin) {
  const ByStart before{ids_by_begin};
  // Events come in the order of their ends, thread by thread: each outer one has to go back over what is inside it,
  // which makes as many moves as there are levels, for each event. Many threads make it more.
  constexpr size_t kUsualLevels = 16;
  if (InsertionSort(order, before, kUsualLevels * order->size())) return;
  RadixSort(order);
  for (auto begin = order->begin(); begin != order->end();) {
    const auto end = std::find_if(begin, order->end(), [start_ns = (*begin)->start_ns](const FunctionEvent* event) {
      return event->start_ns != start_ns;
    });
    if (end - begin > 1) std::stable_sort(begin, end, before);
    begin = end;
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
    SubtractFrom(&parent->details->self_cpu_memory_usage, event->details->cpu_memory_usage);
    SubtractFrom(&parent->details->self_device_memory_usage, event->details->device_memory_usage);
  }
}

}  // namespace ferret
