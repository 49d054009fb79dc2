// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which events are training steps.

#ifndef FERRET_RUNTIME_EXPORT_STEP_EVENT_H_
#define FERRET_RUNTIME_EXPORT_STEP_EVENT_H_

#include <cstdint>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "ferret/function_event.h"

namespace ferret {

// Whether it is the name of a step: "ProfilerStep#7".
inline bool StepNumber(std::string_view trace_name, int64_t* number) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  return trace_name.substr(0, kPrefix.size()) == kPrefix &&
         absl::SimpleAtoi(absl::string_view(trace_name.data(), trace_name.size()).substr(kPrefix.size()), number) &&
         *number >= 0;
}

inline bool IsStep(const FunctionEvent& event, int64_t* number) {
  return event.device_type == DeviceType::kCpu && StepNumber(event.trace_name(), number);
}

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_STEP_EVENT_H_
