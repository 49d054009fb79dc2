// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TraceEvent: one event of a Chrome trace, as the parser hands it over.

#ifndef FERRET_RUNTIME_TRACE_READER_TRACE_EVENT_H_
#define FERRET_RUNTIME_TRACE_READER_TRACE_EVENT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/trace_reader/json_value.h"

namespace ferret {

// Lives as long as the call that it is an argument of.
struct TraceEvent {
  char phase = '\0';  // "ph": X, i, M, s, f, b, e, …
  std::string_view category;
  std::string_view name;
  // As they are written, for most are numbers and some are not ("Spans"). Together they say which row the event is on.
  std::string_view pid;
  std::string_view tid;
  std::string_view id;  // of arrows and of asynchronous pairs
  // Nanoseconds since the trace's base. Nothing if there is none, or NaN.
  std::optional<int64_t> time_ns;
  std::optional<int64_t> duration_ns;
  const JsonValue* args = nullptr;  // an object, or null

  const JsonValue* Arg(std::string_view key) const { return args == nullptr ? nullptr : args->Find(key); }
  std::optional<int64_t> IntArg(std::string_view key) const {
    const JsonValue* const value = Arg(key);
    return value == nullptr ? std::nullopt : value->AsInt();
  }
};

// The event that the object is, with views into it. An error if a member is of a type that the format does not have
// there; its message ends a sentence about the place in the file.
absl::Status ReadTraceEvent(const JsonValue& value, TraceEvent* event);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_TRACE_EVENT_H_
