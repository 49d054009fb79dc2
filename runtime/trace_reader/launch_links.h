// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which operator launched what: the innermost one that was open at the launch.
//
// Kineto writes it down as "External id". There are traces in which that id of a launch and of a kernel is not the
// operator's but their own correlation id, and means another operator or none; so it counts only if the operator it
// names was open at the launch. Without one that counts, the launch is found by its correlation id and the operator by
// the time and thread of the launch.

#ifndef FERRET_RUNTIME_TRACE_READER_LAUNCH_LINKS_H_
#define FERRET_RUNTIME_TRACE_READER_LAUNCH_LINKS_H_

#include <cstdint>
#include <vector>

#include "runtime/trace_reader/raw_trace.h"

namespace ferret {

inline constexpr int64_t kNotLinked = -1;

// For each event of the trace the index of the operator that launched it; kNotLinked for what was launched by none, and
// for everything that is neither a launch nor work of a device. What Ferret timed between two marks around an operator
// or annotation (RawEvent::is_marked_span) is linked to that by its external id, which is unique there.
std::vector<int64_t> LaunchLinks(const RawTrace& trace);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_LAUNCH_LINKS_H_
