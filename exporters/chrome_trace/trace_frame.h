// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What stands before and after the events of a Chrome trace.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_TRACE_FRAME_H_
#define FERRET_EXPORTERS_CHROME_TRACE_TRACE_FRAME_H_

#include <cstdint>
#include <string>

#include "runtime/export/exporter.h"

namespace ferret::chrome_trace {

// The instant that times in a trace count from: a multiple of 7,889,238 s ("three months"), as Kineto has it. The
// nanoseconds since then fit into the 53 bits of a double, and the ranks of a job have the same base.
int64_t BaseNs(int64_t session_start_ns);

// From the brace to the first events, which name the process. Each key stands on a line of its own, with a blank after
// the colon: HTA finds the rank with a regular expression that wants both.
std::string TraceHead(const SessionInfo& info, const std::string& run_id);

struct TraceState {
  int64_t span_start_ns = 0;
  int64_t span_end_ns = 0;
  uint64_t events = 0;  // function events and instants in this file
  int part = 0;         // 0: the trace is not split
  ExportProgress progress;
  std::string device_properties;  // elements of the list, as JSON
  std::string path;
};

// The last events and whatever closes the document: the span of the session, the instant "Ferret Record", whose args
// account for everything, and deviceProperties, which Kineto has before the events: here devices are met later.
std::string TraceTail(const SessionInfo& info, const TraceState& state);

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_TRACE_FRAME_H_
