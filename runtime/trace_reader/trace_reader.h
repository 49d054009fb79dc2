// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes an EventList of a Chrome trace of Kineto's (torch.profiler) or of Ferret's, plain or gzipped.
//
//     absl::StatusOr<ferret::TraceContents> trace = ferret::ReadTrace("trace.json.gz");
//     if (!trace.ok()) …  // says what is wrong, and where in the file
//     std::cout << trace->events.key_averages().table();
//
// The list is what torch.profiler's events() is for the run that the trace is of, as far as the file goes. Differences:
//   - ids are unique in the list. Operators and annotations keep the trace's "External id" (where
//     EventDetails::external_id, which is only there if it differs, is 0); what shares no namespace with them gets
//     numbers of its own.
//   - logical thread ids are made for the rows of the trace (thread_ids.h); work of a device that no operator launched
//     has thread 0.
//   - an annotation's device time is that of the kernels inside it, not also that of its shadow on the device.
//   - waits of the host for the device, which some traces have as cuda_sync, are no device work and left out.
//   - in a trace of Ferret's own the device time of an operator with timed ones inside is that of the pair of marks
//     around it (ferret_legacy), and the rows of launches are left out: each is the scope that was timed once more.
//   - memory belongs to the scopes that were open on any thread, as torch.profiler has it; in a trace of Ferret's own,
//     to those on the thread of the allocation.
// Memory use is proportional to the events that are kept, not to the size of the file.

#ifndef FERRET_RUNTIME_TRACE_READER_TRACE_READER_H_
#define FERRET_RUNTIME_TRACE_READER_TRACE_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ferret/event_list.h"
#include "runtime/trace_reader/byte_reader.h"

namespace ferret {

struct TraceContents {
  EventList events;  // built
  uint64_t kernels_linked = 0;  // kernels, copies and sets whose operator is known
  uint64_t kernels_alone = 0;   // and those of which it is not
  std::vector<std::string> warnings;  // one line each
};

absl::StatusOr<TraceContents> ReadTrace(const std::string& path);
// `file` is what errors call it.
absl::StatusOr<TraceContents> ReadTrace(ByteReader* reader, const std::string& file);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_TRACE_READER_H_
