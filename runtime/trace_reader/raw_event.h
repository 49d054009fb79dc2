// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a trace event says of itself, beside its times and its row.

#ifndef FERRET_RUNTIME_TRACE_READER_RAW_EVENT_H_
#define FERRET_RUNTIME_TRACE_READER_RAW_EVENT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "runtime/trace_reader/raw_trace.h"
#include "runtime/trace_reader/trace_event.h"

namespace ferret {

// Names go into `names`, which the event then points into.
RawEvent MakeRawEvent(const TraceEvent& event, std::unordered_set<std::string>* names);

// A whole number as text, as of a pid; nothing for any other text.
std::optional<int64_t> IntegerOf(std::string_view text);

template <typename T>
T NarrowTo(std::optional<int64_t> value, T otherwise) {
  if (!value.has_value() || *value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
    return otherwise;
  }
  return static_cast<T>(*value);
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_RAW_EVENT_H_
