// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Plays what a crash file holds through the drain, as the process that wrote it would have done had it lived, and hands
// what an exporter does not have yet to another one.
//
//     records up to the exporter's position ─► drain ─► thrown away: they are exported, but scopes begin in them
//     the others                            ─► drain ─► batches; what is open at the end is closed, flagged

#ifndef FERRET_TOOLS_CRASH_REPLAY_H_
#define FERRET_TOOLS_CRASH_REPLAY_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "runtime/crash/crash_reader.h"
#include "runtime/drain/thread_trace.h"
#include "runtime/export/exporter.h"

namespace ferret {

struct ReplayCounts {
  uint64_t events = 0;     // handed over: scopes, instants, counters, memory events
  uint64_t truncated = 0;  // of them, scopes that were open
  uint64_t links = 0;
};

// `settled`: the last batch that is exported; none: everything is handed over. Calls `take` for each batch; the first error
// that it returns is the result, and ends it.
absl::Status ReplayCrash(internal::CrashContents* contents, std::optional<uint64_t> settled, bool with_flops,
                         const std::function<absl::Status(const EventBatch&)>& take, ReplayCounts* counts);

// Everything that is there, and then the threads as they are where the records end: what is open stays open. `take` gets
// what is finished, before `visit` is called for each thread. False if there is no memory for it.
bool ViewCrash(internal::CrashContents* contents, const std::function<void(const EventBatch&)>& take,
               const std::function<void(const internal::ThreadTrace&)>& visit);

}  // namespace ferret

#endif  // FERRET_TOOLS_CRASH_REPLAY_H_
