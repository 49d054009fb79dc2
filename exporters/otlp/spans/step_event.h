// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which events are training steps.

#ifndef FERRET_EXPORTERS_OTLP_SPANS_STEP_EVENT_H_
#define FERRET_EXPORTERS_OTLP_SPANS_STEP_EVENT_H_

#include <cstdint>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "ferret/function_event.h"

namespace ferret::otlp {

inline constexpr std::string_view kStepPrefix = "ProfilerStep#";

// "ProfilerStep#7", of a scope: the step's number.
inline bool IsStep(const FunctionEvent& event, int64_t* number) {
  if (event.device_type != DeviceType::kCpu) return false;
  const std::string_view name = event.trace_name();
  return name.substr(0, kStepPrefix.size()) == kStepPrefix &&
         absl::SimpleAtoi(absl::string_view(name.data(), name.size()).substr(kStepPrefix.size()), number) && *number >= 0;
}

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_SPANS_STEP_EVENT_H_
