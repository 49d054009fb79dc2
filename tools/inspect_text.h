// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An inspected process as text for people.

#ifndef FERRET_TOOLS_INSPECT_TEXT_H_
#define FERRET_TOOLS_INSPECT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/inspect_report.h"

namespace ferret {

// With `all_threads` also those that have nothing open, which are summed up else.
std::string InspectText(const InspectedProcess& process, bool all_threads);

// "850 ns", "12.3 ms", "4 min 07 s": three digits or so. Nothing is shorter than 0.
std::string DurationText(int64_t ns);

// A name on one line of a terminal: control characters are escaped, what is no UTF-8 is replaced, and what is longer than
// 100 bytes is cut in the middle.
std::string ShownName(std::string_view name);

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_TEXT_H_
