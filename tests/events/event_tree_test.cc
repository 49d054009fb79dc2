// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules by which EventList::Build links, merges and annotates events.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/events/event_maker.h"

namespace ferret {
namespace {

using Names = std::vector<std::string>;

TEST(EventTree, AnEventIsAChildOfTheInnermostEventAroundIt) {
  EventList list;
  FunctionEvent& inner = AddOp(list, "inner", 3, 4);
  FunctionEvent& outer = AddOp(list, "outer", 0, 10);
  FunctionEvent& middle = AddOp(list, "middle", 2, 5);
  list.Build();
  EXPECT_EQ(inner.cpu_parent, &middle);
  EXPECT_EQ(middle.cpu_parent, &outer);
  EXPECT_EQ(outer.cpu_parent, nullptr);
  EXPECT_EQ(inner.parent_id, middle.id);
  EXPECT_DOUBLE_EQ(outer.self_cpu_time_total(), 7);
  EXPECT_DOUBLE_EQ(middle.self_cpu_time_total(), 2);
  EXPECT_EQ(list[0].name, "outer");
  EXPECT_EQ(list[2].name, "inner");
}

TEST(EventTree, SiblingsMayTouchAndStandInTheOrderOfTheirStarts) {
  EventList list;
  FunctionEvent& outer = AddOp(list, "outer", 0, 10);
  AddOp(list, "second", 3, 4);
  AddOp(list, "first", 1, 3);
  list.Build();
  EXPECT_EQ(ChildNames(outer), (Names{"first", "second"}));
  EXPECT_DOUBLE_EQ(outer.self_cpu_time_total(), 7);
}

TEST(EventTree, WhatBeginsWhereAnotherEndsIsNotInsideIt) {
  EventList list;
  AddOp(list, "op", 0, 10);
  FunctionEvent& at_the_end = AddOp(list, "at the end", 10, 10);
  list.Build();
  EXPECT_EQ(at_the_end.cpu_parent, nullptr);
}

TEST(EventTree, APartialOverlapMakesNoParentAndEndsTheEarlierEventsRole) {
  EventList list;
  FunctionEvent& first = AddOp(list, "first", 0, 10);
  FunctionEvent& second = AddOp(list, "second", 5, 15);
  FunctionEvent& later = AddOp(list, "later", 8, 9);  // inside both
  list.Build();
  EXPECT_EQ(second.cpu_parent, nullptr);
  EXPECT_EQ(later.cpu_parent, &second);
  EXPECT_TRUE(ChildNames(first).empty());
}

TEST(EventTree, OfTwoEqualIntervalsTheFirstInTheListIsTheParent) {
  EventList list;
  FunctionEvent& first = AddOp(list, "first", 0, 10);
  FunctionEvent& second = AddOp(list, "second", 0, 10);
  list.Build();
  EXPECT_EQ(second.cpu_parent, &first);
  EXPECT_EQ(first.self_ns, 0);
  EXPECT_EQ(second.self_ns, 10000);
}

TEST(EventTree, OfTwoEqualIntervalsThatWereRecordedTheOneThatBeganFirstIsTheParent) {
  // Batches deliver children before their parents.
  EventList list;
  FunctionEvent event;
  event.thread = 1;
  event.end_ns = 10;
  event.id = 8;
  event.parent_id = 7;
  event.name = "child";
  FunctionEvent& child = list.Add(event);
  event.id = 7;
  event.parent_id = 0;
  event.name = "parent";
  FunctionEvent& parent = list.Add(event);
  list.Build();
  EXPECT_EQ(child.cpu_parent, &parent);
  EXPECT_EQ(child.parent_id, 7);
}

TEST(EventTree, ThreadsAndNodesHaveTreesOfTheirOwn) {
  EventList list;
  AddOp(list, "outer", 0, 10);
  FunctionEventFields fields = Op("other thread", 1, 2);
  fields.thread = 2;
  FunctionEvent& other_thread = AddTo(list, fields);
  fields = Op("other node", 1, 2);
  fields.node_id = 3;
  FunctionEvent& other_node = AddTo(list, fields);
  list.Build();
  EXPECT_EQ(other_thread.cpu_parent, nullptr);
  EXPECT_EQ(other_node.cpu_parent, nullptr);
}

TEST(EventTree, AsynchronousAndDeviceEventsAreInNoTree) {
  EventList list;
  FunctionEvent& outer = AddOp(list, "outer", 0, 10);
  FunctionEventFields fields = Op("async", 1, 5);
  fields.is_async = true;
  FunctionEvent& async = AddTo(list, fields);
  fields = Op("kernel", 1, 5);
  fields.device_type = DeviceType::kCuda;
  FunctionEvent& kernel = AddTo(list, fields);
  FunctionEvent& inside_async = AddOp(list, "inside", 2, 3);
  list.Build();
  EXPECT_EQ(async.cpu_parent, nullptr);
  EXPECT_EQ(kernel.cpu_parent, nullptr);
  EXPECT_EQ(inside_async.cpu_parent, &outer);
  EXPECT_EQ(async.self_ns, 0);
  EXPECT_DOUBLE_EQ(async.cpu_time_total(), 4);
  EXPECT_DOUBLE_EQ(async.self_cpu_time_total(), 0);
  EXPECT_DOUBLE_EQ(kernel.cpu_time_total(), 0);
  EXPECT_DOUBLE_EQ(outer.self_cpu_time_total(), 9);
}

TEST(EventTree, AnOnlyChildOfTheSameNameLeavesItsChildrenAndKernelsToItsParent) {
  EventList list;
  FunctionEvent& outer = AddOp(list, "op", 0, 10);
  FunctionEvent& middle = AddOp(list, "op", 1, 9);
  FunctionEvent& inner = AddOp(list, "op", 2, 8);
  FunctionEvent& first = AddOp(list, "a", 3, 4);
  FunctionEvent& second = AddOp(list, "b", 5, 6);
  ASSERT_EQ(list.append_kernel(outer, "k1", 0, 1), "");
  ASSERT_EQ(list.append_kernel(middle, "k2", 0, 2), "");
  ASSERT_EQ(list.append_kernel(inner, "k3", 0, 4), "");
  list.Build();
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(ChildNames(outer), (Names{"a", "b"}));
  EXPECT_EQ(first.cpu_parent, &outer);
  EXPECT_EQ(second.parent_id, outer.id);
  EXPECT_DOUBLE_EQ(outer.self_cpu_time_total(), 8);
  ASSERT_EQ(outer.kernels().size(), 3u);
  EXPECT_EQ(outer.kernels()[2].name, "k3");
}

TEST(EventTree, ALegacyParentKeepsItsOneKernelWhichSpansThoseOfItsChildren) {
  EventList list;
  FunctionEventFields fields = Op("op", 0, 10);
  fields.is_legacy = true;
  FunctionEvent& outer = AddTo(list, fields);
  fields.start_us = 1;
  FunctionEvent& inner = AddTo(list, fields);
  ASSERT_EQ(list.append_kernel(outer, "op", 0, 8), "");
  ASSERT_EQ(list.append_kernel(inner, "op", 0, 5), "");
  list.Build();
  ASSERT_EQ(outer.kernels().size(), 1u);
  EXPECT_DOUBLE_EQ(outer.kernels()[0].duration(), 8);
}

TEST(EventTree, ChildrenOfTheSameNameStayIfThereAreSeveral) {
  EventList list;
  AddOp(list, "op", 0, 10);
  AddOp(list, "op", 1, 2);
  AddOp(list, "op", 3, 4);
  list.Build();
  EXPECT_EQ(list.size(), 3u);
}

TEST(EventTree, BuildingTwiceChangesNothing) {
  EventList list;
  FunctionEvent& outer = AddOp(list, "op", 0, 10);
  AddOp(list, "op", 1, 9);
  AddOp(list, "a", 3, 4);
  MemoryEvent memory;
  memory.thread = 1;
  memory.time_ns = 1500;
  memory.bytes = 64;
  list.AddMemory(memory);
  memory.time_ns = 20000;
  list.AddMemory(memory);
  list.Build();
  const size_t size = list.size();
  const int64_t self_ns = outer.self_ns;
  list.Build();
  EXPECT_EQ(list.size(), size);
  EXPECT_EQ(outer.self_ns, self_ns);
  EXPECT_EQ(outer.cpu_memory_usage(), 64);
  EXPECT_EQ(ChildNames(outer), (Names{"a"}));
}

TEST(EventTree, ATreeOfAMillionLevelsIsBuiltAndSummedUp) {
  constexpr int kLevels = 1000000;
  EventList list({0, DeviceType::kCuda});
  FunctionEvent event;
  event.thread = 1;
  for (int i = 0; i < kLevels; ++i) {
    event.id = i + 1;
    event.name = i % 2 == 0 ? "even" : "odd";
    event.start_ns = i;
    event.end_ns = 3 * kLevels - i;
    list.Add(event);
  }
  ASSERT_EQ(list.append_kernel(list[kLevels - 1], "kernel", 0, 2.5), "");
  list.Build();
  EXPECT_EQ(list.size(), static_cast<size_t>(kLevels));
  EXPECT_EQ(list[0].device_time_total_ns(), 2500);
  EXPECT_EQ(list[0].self_device_time_total_ns(), 0);
  const EventAverages averages = list.key_averages();
  ASSERT_EQ(averages.size(), 2u);
  EXPECT_EQ(averages[0].device_time_total_ns, 2500LL * kLevels / 2);
  EXPECT_EQ(averages[1].self_device_time_total_ns, 2500);
}

TEST(EventTree, EventsUnderABackwardOpGetTheStackOfItsForwardOp) {
  EventList list;
  FunctionEventFields fields = Op("aten::mul", 0, 1);
  fields.sequence_nr = 7;
  fields.stack = {"model.py(3): forward", "train.py(9): main"};
  AddTo(list, fields);
  fields = Op("aten::mul inner", 2, 3);  // the same number, later: the first wins
  fields.sequence_nr = 7;
  fields.stack = {"other"};
  AddTo(list, fields);
  fields = Op("MulBackward0", 10, 20);
  fields.thread = 2;
  fields.fwd_thread = 1;
  fields.sequence_nr = 7;
  fields.scope = RecordScope::kBackwardFunction;
  FunctionEvent& backward = AddTo(list, fields);
  fields = Op("aten::mul", 11, 12);
  fields.thread = 2;
  fields.stack = {"its own"};
  FunctionEvent& inside = AddTo(list, fields);
  fields = Op("AddBackward0", 30, 40);
  fields.thread = 2;
  fields.fwd_thread = 1;
  fields.sequence_nr = 8;
  fields.scope = RecordScope::kBackwardFunction;
  fields.stack = {"nowhere"};
  FunctionEvent& unknown = AddTo(list, fields);
  list.Build();
  const Names expected = {"model.py(3): forward", "train.py(9): main"};
  EXPECT_EQ(backward.stack(), expected);
  EXPECT_EQ(inside.stack(), expected);
  EXPECT_TRUE(unknown.stack().empty());
}

TEST(EventTree, EventsInAnyOrderAreSortedAndWhatIsEqualKeepsItsPlace) {
  std::mt19937_64 random(3);
  for (const bool extreme : {false, true}) {
    EventList list;
    std::vector<FunctionEvent*> expected;
    for (int i = 0; i < 20000; ++i) {
      FunctionEvent event;
      event.id = i;
      event.name = "op";
      event.is_async = true;
      event.start_ns = extreme && i % 3 == 0 ? static_cast<int64_t>(random()) : static_cast<int64_t>(random() % 5000);
      event.end_ns = event.start_ns > INT64_MAX - 10 ? INT64_MAX : event.start_ns + static_cast<int64_t>(random() % 4);
      expected.push_back(&list.Add(event));
    }
    std::stable_sort(expected.begin(), expected.end(), [](const FunctionEvent* a, const FunctionEvent* b) {
      return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
    });
    list.Build();
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(&list[i], expected[i]) << i;
  }
}

// What the tree must be, from nothing but the definition, event by event.
TEST(EventTree, RandomTreesAreThoseOfTheDefinition) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 300; ++round) {
    EventList list;
    const int count = 1 + static_cast<int>(random() % 40);
    std::vector<FunctionEvent*> events;
    for (int i = 0; i < count; ++i) {
      FunctionEvent event;
      event.id = i + 1;
      const std::string name = "op" + std::to_string(i);  // no duplicates
      event.name = name;
      event.thread = 1 + random() % 2;
      event.start_ns = static_cast<int64_t>(random() % 20) - 10;
      event.end_ns = event.start_ns + static_cast<int64_t>(random() % 12);
      event.is_async = random() % 8 == 0;
      events.push_back(&list.Add(event));
    }
    list.Build();
    ASSERT_EQ(list.size(), events.size());
    std::map<const FunctionEvent*, int64_t> children_ns;
    // Sorted as the definition says; what is equal keeps its place.
    std::vector<FunctionEvent*> sorted = events;
    std::stable_sort(sorted.begin(), sorted.end(), [](const FunctionEvent* a, const FunctionEvent* b) {
      return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
    });
    for (size_t i = 0; i < sorted.size(); ++i) {
      EXPECT_EQ(&list[i], sorted[i]);
      const FunctionEvent& event = *sorted[i];
      // An earlier event is still open if none after it, up to this one, began at its end or ended after it.
      const FunctionEvent* parent = nullptr;
      for (size_t j = 0; j < i && !event.is_async; ++j) {
        if (sorted[j]->thread != event.thread || sorted[j]->is_async) continue;
        bool open = true;
        for (size_t k = j + 1; k <= i; ++k) {
          if (sorted[k]->thread != event.thread || sorted[k]->is_async) continue;
          open &= sorted[k]->start_ns < sorted[j]->end_ns && sorted[k]->end_ns <= sorted[j]->end_ns;
        }
        if (open) parent = sorted[j];
      }
      EXPECT_EQ(event.cpu_parent, parent) << "round " << round << ": " << event.ToString();
      EXPECT_EQ(event.parent_id, parent == nullptr ? 0 : parent->id);
      if (parent != nullptr) children_ns[parent] += event.duration_ns();
    }
    for (const FunctionEvent* event : events) {
      EXPECT_EQ(event->self_ns, event->is_async ? 0 : event->duration_ns() - children_ns[event]);
      for (const FunctionEvent* child : event->cpu_children()) EXPECT_EQ(child->cpu_parent, event);
    }
  }
}

}  // namespace
}  // namespace ferret
