// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What an adapter needs beyond the public API: a shared library that feeds Ferret from a framework. Not for programs.

#ifndef FERRET_INTERNAL_ADAPTER_H_
#define FERRET_INTERNAL_ADAPTER_H_

#include <cstdint>
#include <string_view>

#include "ferret/internal/hot_path.h"

namespace ferret::internal {

// Interns a name for use in the header of BeginScope and BeginOp. 0 when the name table has no room: use the named
// forms, which write the text inline. Takes a lock: call it once for each name and thread. Not in signal handlers.
FERRET_EXPORT_SYMBOL uint32_t InternName(std::string_view name);

// Whether an id came from InternName: anything else in a record would name nothing.
FERRET_EXPORT_SYMBOL bool IsNameId(uint32_t name_id);

// From here on threads are shown under the ids that `current_thread_id` gives; it is called on each thread, on its
// next record, and must be cheap and not throw. Ids given out before are remapped. nullptr goes back to Ferret's own.
FERRET_EXPORT_SYMBOL void SetThreadIdProvider(uint64_t (*current_thread_id)());

// Calls observer(true) when recording goes on and observer(false) when it goes off: at the start and at the stop of a
// session, and at each begin and end of a window of its schedule; at once if it is on. It is called under a lock of the
// session's, on the thread that switches, in the order in which observers were added. The observer must not start or
// stop a session. At most 16.
FERRET_EXPORT_SYMBOL bool AddSessionObserver(void (*observer)(bool recording));

// Calls observer(true) when a session starts whose schedule counts steps, and observer(false) when it stops; else like
// AddSessionObserver. Until observer(false), recording or not, an adapter that sees an optimizer's step end says so by
// OptimizerStepped, on the optimizer's thread, after the end of its scope. Of optimizers that wrap each other only the
// outermost one counts.
FERRET_EXPORT_SYMBOL bool AddStepObserver(void (*observer)(bool counting));
FERRET_EXPORT_SYMBOL void OptimizerStepped();

}  // namespace ferret::internal

#endif  // FERRET_INTERNAL_ADAPTER_H_
