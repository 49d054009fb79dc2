// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The args of a trace event as details of a function event (ferret/internal/detail_format.h).

#ifndef FERRET_RUNTIME_TRACE_READER_ARG_DETAILS_H_
#define FERRET_RUNTIME_TRACE_READER_ARG_DETAILS_H_

#include <string>
#include <string_view>

#include "ferret/value.h"
#include "runtime/trace_reader/trace_event.h"

namespace ferret {

// Inputs, stack, module hierarchy, overload name, what is known of a collective, and as metadata every other arg that
// no field of FunctionEvent stands for. "" if there is nothing.
std::string DetailsOfArgs(const TraceEvent& event, std::string_view overload_name);

// Lists of one kind of scalar are lists; other lists and objects are JSON text.
Value ValueOfJson(const JsonValue& json);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_ARG_DETAILS_H_
