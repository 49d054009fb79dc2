// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What must hold for the events of every thread, whatever was recorded: found from the intervals alone, as a viewer
// does, and not from what the drain says of them.

#ifndef FERRET_TESTS_DRAIN_EVENT_TREE_H_
#define FERRET_TESTS_DRAIN_EVENT_TREE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/drain/drain_harness.h"

namespace ferret::internal {

// `inner` lies in `outer`, or they do not overlap at all. Touching is not overlapping.
inline bool Nests(const FunctionEvent& a, const FunctionEvent& b) {
  const bool apart = a.end_ns <= b.start_ns || b.end_ns <= a.start_ns;
  const bool a_in_b = b.start_ns <= a.start_ns && a.end_ns <= b.end_ns;
  const bool b_in_a = a.start_ns <= b.start_ns && b.end_ns <= a.end_ns;
  return apart || a_in_b || b_in_a;
}

// The time that the outermost of `events` inside of `self` take. They nest, and are sorted by start, longest first, and
// then by id, so that of equal intervals the outer one comes first. A step that was cut inside of scopes lies in them.
inline int64_t CoveredTime(const std::vector<const FunctionEvent*>& events, const FunctionEvent& self) {
  int64_t covered = 0, until = self.start_ns;
  const int64_t last_outer = self.is_synthesized ? self.parent_id : self.id;
  for (const FunctionEvent* event : events) {
    const bool is_equal = event->start_ns == self.start_ns && event->end_ns == self.end_ns;
    if (event->start_ns < until || event->end_ns > self.end_ns || (is_equal && event->id <= last_outer)) continue;
    covered += event->duration_ns();
    until = event->end_ns;
  }
  return covered;
}

// No duration below 0; no two events of a thread overlap in part, synthesized ones included; self time is what the
// events directly inside leave; parents exist, are of the same thread and hold their children. Events that end on
// another thread stand beside all this.
inline void ExpectTree(const CollectingSink& sink) {
  std::map<uint32_t, std::vector<const FunctionEvent*>> recorded, all;
  for (const FunctionEvent& event : sink.events) {
    ASSERT_GE(event.duration_ns(), 0) << event.name;
    if (event.is_async) {
      ASSERT_EQ(event.self_ns, 0) << event.name;
      ASSERT_EQ(event.parent_id, 0) << event.name;
      continue;
    }
    all[event.thread].push_back(&event);
    if (!event.is_synthesized) recorded[event.thread].push_back(&event);
    if (event.parent_id == 0) continue;
    const FunctionEvent* const parent = sink.ById(event.parent_id);
    ASSERT_NE(parent, nullptr) << event.name;
    ASSERT_EQ(parent->thread, event.thread) << event.name;
    if (parent->is_async) continue;
    ASSERT_FALSE(parent->is_synthesized) << event.name;
    ASSERT_LT(parent->id, event.id) << event.name;
    ASSERT_LE(parent->start_ns, event.start_ns) << event.name;
    ASSERT_GE(parent->end_ns, event.end_ns) << event.name;
  }
  for (auto& [thread, events] : all) {
    const auto outer_first = [](const FunctionEvent* a, const FunctionEvent* b) {
      return std::make_tuple(a->start_ns, -a->end_ns, a->id) < std::make_tuple(b->start_ns, -b->end_ns, b->id);
    };
    std::sort(events.begin(), events.end(), outer_first);
    std::sort(recorded[thread].begin(), recorded[thread].end(), outer_first);
    std::vector<const FunctionEvent*> open;
    for (const FunctionEvent* event : events) {
      while (!open.empty() && open.back()->end_ns <= event->start_ns) open.pop_back();
      if (!open.empty()) {
        ASSERT_TRUE(Nests(*open.back(), *event))
            << open.back()->name << " [" << open.back()->start_ns << ", " << open.back()->end_ns << "] and "
            << event->name << " [" << event->start_ns << ", " << event->end_ns << "]";
      }
      open.push_back(event);
    }
    for (const FunctionEvent* event : events) {
      ASSERT_EQ(event->self_ns, event->duration_ns() - CoveredTime(recorded[thread], *event))
          << event->name << " [" << event->start_ns << ", " << event->end_ns << "]";
    }
  }
}

}  // namespace ferret::internal

#endif  // FERRET_TESTS_DRAIN_EVENT_TREE_H_
