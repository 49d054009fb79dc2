// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The details of an event as members of its "args", under the names and in the forms that Kineto gives them.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_DETAILS_TEXT_H_
#define FERRET_EXPORTERS_CHROME_TRACE_DETAILS_TEXT_H_

#include <string>

#include "ferret/event_details.h"

namespace ferret::chrome_trace {

// Appends `, "key": value` for each. Details that are damaged end where they are.
void AppendDetails(const EventDetails& details, std::string* out);

}  // namespace ferret::chrome_trace

#endif  // FERRET_EXPORTERS_CHROME_TRACE_DETAILS_TEXT_H_
