// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is sent of the operators and kernels: detail, every, steps, slow and hold.

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporters/otlp/config/config_parts.h"
#include "exporters/otlp/config/otlp_parameters.h"

namespace ferret::otlp {
namespace {

// Less could not hold one step of a small model.
constexpr uint64_t kLeastHeld = uint64_t{1} << 20;

bool ReadStep(absl::string_view text, int64_t* step) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, step);
}

// "10-20", or "10" for one step.
absl::Status ReadSteps(const ExporterSpec& spec, SamplingConfig* config) {
  const std::string* const given = FindParameter(spec, "steps");
  if (given == nullptr) return absl::OkStatus();
  const absl::string_view text = *given;
  const size_t dash = text.find('-');
  const absl::string_view last = dash == absl::string_view::npos ? text : text.substr(dash + 1);
  if (!ReadStep(text.substr(0, dash), &config->first_step) || !ReadStep(last, &config->last_step) ||
      config->last_step < config->first_step) {
    return BadParameter(spec, "steps", "one step, like 10, or from one to another, like 10-20");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSampling(const ExporterSpec& spec, SamplingConfig* config) {
  const absl::StatusOr<std::optional<size_t>> detail = WordParameter(spec, "detail", {"none", "sampled", "all"});
  if (!detail.ok()) return detail.status();
  if (detail->has_value()) config->detail = static_cast<Detail>(**detail);
  if (config->detail != Detail::kSampled) {
    for (const char* key : {"every", "steps", "slow", "hold"}) {
      if (FindParameter(spec, key) == nullptr) continue;
      return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", key, " means something only with detail=sampled"));
    }
  }
  const absl::StatusOr<int64_t> every =
      IntParameter(spec, "every", config->every, 0, std::numeric_limits<int32_t>::max());
  if (!every.ok()) return every.status();
  config->every = *every;
  absl::Status steps = ReadSteps(spec, config);
  if (!steps.ok()) return steps;
  const absl::StatusOr<double> slow = FactorParameter(spec, "slow", config->slow);
  if (!slow.ok()) return slow.status();
  config->slow = *slow;
  const absl::StatusOr<uint64_t> held = SizeParameter(spec, "hold", config->held_bytes, kLeastHeld);
  if (!held.ok()) return held.status();
  config->held_bytes = *held;
  return absl::OkStatus();
}

}  // namespace ferret::otlp
