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

// Calls observer(true) when a session starts and observer(false) when it stops, under the session lock, on the thread
// that starts or stops; at once if a session is on. The observer must not start or stop a session. At most 16.
FERRET_EXPORT_SYMBOL bool AddSessionObserver(void (*observer)(bool recording));

}  // namespace ferret::internal

#endif  // FERRET_INTERNAL_ADAPTER_H_
