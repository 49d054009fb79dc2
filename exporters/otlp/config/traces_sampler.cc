// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/traces_sampler.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ferret::otlp {
namespace {

constexpr char kName[] = "OTEL_TRACES_SAMPLER";
constexpr uint8_t kSampled = 0x01;

}  // namespace

bool SamplerKeepsTraces(const OtlpVariables& variables, const std::optional<RemoteContext>& remote) {
  const std::vector<std::string> samplers = {"always_on",           "always_off",
                                             "parentbased_always_on", "parentbased_always_off",
                                             "traceidratio",        "parentbased_traceidratio"};
  const std::optional<size_t> given = variables.Word(kName, samplers);
  if (!given.has_value()) return true;
  const std::string& name = samplers[*given];
  absl::string_view root = name;
  if (absl::ConsumePrefix(&root, "parentbased_") && remote.has_value()) {
    if ((remote->flags & kSampled) != 0) return true;
    variables.Warn(absl::StrCat("no traces are sent: TRACEPARENT is not sampled, and ", kName, " is ", name));
    return false;
  }
  if (root == "always_off") {
    variables.Warn(absl::StrCat("no traces are sent: ", kName, " is ", name));
    return false;
  }
  if (root == "traceidratio") {
    variables.Ignore(kName, name, "a session is one trace, which is kept; steps are sampled by every=, steps= and slow=");
  }
  return true;
}

}  // namespace ferret::otlp
