// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the category of a trace event means.

#ifndef FERRET_RUNTIME_TRACE_READER_ACTIVITY_KIND_H_
#define FERRET_RUNTIME_TRACE_READER_ACTIVITY_KIND_H_

#include <string_view>

#include "ferret/function_event.h"

namespace ferret {

struct ActivityKind {
  ActivityType type = ActivityType::kOther;
  bool on_device = false;
  bool left_out = false;
};

// A category that is not known stands for something that takes time on a thread.
ActivityKind KindOfCategory(std::string_view category);

// Operators that PyTorch's profiler does not show.
bool IsHiddenName(std::string_view name);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_ACTIVITY_KIND_H_
