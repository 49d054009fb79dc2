// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads a Chrome trace, as Kineto, Ferret and others write it, event by event.
//
// Both forms of file are read: an object with "traceEvents", and a bare array. Memory does not grow with the file: one
// event is held at a time.
//
// An array that ends early is read as far as it goes, for the form allows that: a process that was killed leaves one.
// Everything else that is wrong is an error that says where: text that is not JSON or not UTF-8, a value of the wrong
// type where the format has one, nesting beyond reason.

#ifndef FERRET_RUNTIME_TRACE_READER_TRACE_PARSER_H_
#define FERRET_RUNTIME_TRACE_READER_TRACE_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/trace_reader/byte_reader.h"
#include "runtime/trace_reader/trace_event.h"

namespace ferret {

class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  // An error ends the reading; it is given the place in the file.
  virtual absl::Status OnEvent(const TraceEvent& event) = 0;
  // A string, number, boolean or null beside "traceEvents", wherever in the file it stands. What is larger is skipped.
  virtual void OnHeader(std::string_view key, const JsonValue& value) = 0;
};

struct ParsedTrace {
  uint64_t events = 0;
  std::string warning;  // empty, or one line
};

// `file` is what errors call the text.
absl::StatusOr<ParsedTrace> ParseTrace(ByteReader* reader, const std::string& file, TraceVisitor* visitor);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_TRACE_PARSER_H_
