// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Events for tests, in one line each.

#ifndef FERRET_TESTS_EVENTS_EVENT_MAKER_H_
#define FERRET_TESTS_EVENTS_EVENT_MAKER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ferret/event_list.h"

namespace ferret {

// A CPU event on thread 1, times in microseconds.
inline FunctionEventFields Op(std::string name, double start_us, double end_us) {
  FunctionEventFields fields;
  fields.name = std::move(name);
  fields.thread = 1;
  fields.start_us = start_us;
  fields.end_us = end_us;
  return fields;
}

// Adds it with the next id.
inline FunctionEvent& AddTo(EventList& list, FunctionEventFields fields) {
  if (fields.id == 0) fields.id = static_cast<int64_t>(list.size()) + 1;
  return MakeFunctionEvent(list, fields);
}
inline FunctionEvent& AddOp(EventList& list, std::string name, double start_us, double end_us) {
  return AddTo(list, Op(std::move(name), start_us, end_us));
}

inline std::vector<std::string> ChildNames(const FunctionEvent& event) {
  std::vector<std::string> names;
  for (const FunctionEvent* child : event.cpu_children()) names.emplace_back(child->name);
  return names;
}

inline const FunctionEventAvg* RowNamed(const EventAverages& averages, const std::string& key) {
  for (const FunctionEventAvg& row : averages) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

}  // namespace ferret

#endif  // FERRET_TESTS_EVENTS_EVENT_MAKER_H_
