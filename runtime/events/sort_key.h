// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The figures of a row by the names that PyTorch has for them.

#ifndef FERRET_RUNTIME_EVENTS_SORT_KEY_H_
#define FERRET_RUNTIME_EVENTS_SORT_KEY_H_

#include <string>
#include <string_view>

#include "ferret/function_event_avg.h"

namespace ferret {

using SortKey = double (*)(const FunctionEventAvg& row);

// "cuda", "xpu" and "privateuse1" in the name stand for "device". nullptr for an unknown name.
SortKey FindSortKey(std::string_view name);

// All names, separated by ", ".
std::string SortKeyNames();

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_SORT_KEY_H_
