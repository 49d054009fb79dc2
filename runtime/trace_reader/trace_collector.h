// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// TraceCollector: makes a RawTrace of the events of a trace as the parser meets them.
//
// Kept are complete events (X) of operators, annotations, Python functions, calls of a device's runtime, what ran on
// devices, and anything else that takes time on a thread; asynchronous pairs (b, e); allocations. Left out are waits
// (cuda_sync, cuda_event), which are no work; spans that say what was profiled; and the operators that PyTorch's
// profiler leaves out.

#ifndef FERRET_RUNTIME_TRACE_READER_TRACE_COLLECTOR_H_
#define FERRET_RUNTIME_TRACE_READER_TRACE_COLLECTOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/trace_reader/raw_trace.h"
#include "runtime/trace_reader/trace_parser.h"

namespace ferret {

class TraceCollector final : public TraceVisitor {
 public:
  absl::Status OnEvent(const TraceEvent& event) override;
  void OnHeader(std::string_view key, const JsonValue& value) override;

  // Once, at the end.
  RawTrace Finish() &&;

 private:
  absl::Status OnSlice(const TraceEvent& event);
  absl::Status OnMemory(const TraceEvent& event);
  absl::Status OnAsyncBegin(const TraceEvent& event);
  absl::Status OnAsyncEnd(const TraceEvent& event);
  absl::Status Collect(const TraceEvent& event, int64_t start_ns, int64_t duration_ns, RawEvent* raw);
  // Whether the duration is still within what can be added up.
  bool Count(int64_t duration_ns);
  RowIndex Row(const TraceEvent& event);

  RawTrace trace_;
  absl::flat_hash_map<std::string, RowIndex> rows_;
  std::string last_row_;
  RowIndex last_row_index_ = 0;
  // Begun and not yet ended, by category, id, process.
  std::unordered_map<std::string, RawEvent> open_;
  uint64_t total_ns_ = 0;     // of all events
  uint64_t total_bytes_ = 0;  // of all allocations
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_TRACE_COLLECTOR_H_
