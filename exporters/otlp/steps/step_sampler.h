// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StepSampler: of which steps the operators and kernels are sent, decided when a step has ended.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_STEP_SAMPLER_H_
#define FERRET_EXPORTERS_OTLP_STEPS_STEP_SAMPLER_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "exporters/otlp/config/otlp_config.h"
#include "runtime/export/recent_durations.h"

namespace ferret::otlp {

class StepSampler {
 public:
  explicit StepSampler(const SamplingConfig& config) : config_(config) {}

  // Why the step's detail is sent ("every", "window", "slow", "all"); empty if it is not.
  std::string_view Decide(int64_t number, int64_t duration_ns) {
    const bool slow = config_.slow > 0 && recent_.IsSlow(duration_ns, config_.slow);
    recent_.Add(duration_ns);
    if (config_.detail == Detail::kNone) return "";
    if (config_.detail == Detail::kAll) return "all";
    if (config_.every > 0 && IsFirstOfItsKind(number)) return "every";
    if (number >= config_.first_step && number <= config_.last_step) return "window";
    return slow ? "slow" : "";
  }

 private:
  // The first step that is seen of every so many: the same on all ranks, and one also in windows that leave steps out.
  bool IsFirstOfItsKind(int64_t number) {
    const int64_t kind = number / config_.every;
    return std::exchange(kind_, kind) != kind;
  }

  const SamplingConfig config_;
  RecentDurations recent_;
  int64_t kind_ = -1;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_SAMPLER_H_
