// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The arguments of an operator, put together from the four parallel lists in which a trace has them: "Input type",
// "Input Dims", "Input Strides" and "Concrete Inputs".

#ifndef FERRET_RUNTIME_TRACE_READER_INPUT_VALUES_H_
#define FERRET_RUNTIME_TRACE_READER_INPUT_VALUES_H_

#include <string_view>
#include <vector>

#include "ferret/value.h"
#include "runtime/trace_reader/trace_event.h"

namespace ferret {

// One for each argument; empty if the event has none of the lists. What a list does not have, or not in the form in
// which it is expected, counts as unknown.
std::vector<Value> InputsOfArgs(const TraceEvent& event);

// "True", "7", "0.5", "[1, 2]", as PyTorch writes scalars and lists of them; other text is itself, "" is None.
Value ValueOfText(std::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_INPUT_VALUES_H_
