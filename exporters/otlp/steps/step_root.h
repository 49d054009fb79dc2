// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The spans that every step has: its root and its phases.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_STEP_ROOT_H_
#define FERRET_EXPORTERS_OTLP_STEPS_STEP_ROOT_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporters/otlp/spans/attribute_limits.h"
#include "exporters/otlp/spans/attributes.h"
#include "exporters/otlp/spans/span.h"
#include "exporters/otlp/steps/step_phases.h"

namespace ferret::otlp {

// What is known of a step that has ended.
struct StepFacts {
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t os_tid = 0;
  std::string_view detail;  // why its operators are sent; empty if they are not
  uint64_t cut = 0;         // spans that found no room since the step before
  double lost = 0;          // scopes
};

// `root` has the id, the parent and the link. `send` is called with a Span, whose texts live until it returns.
template <typename Attributes, typename Send>
void SendStepRoot(Span root, const StepFacts& step, const std::vector<StepPhases::Interval>& phases,
                  const AttributeLimits& limits, const Send& send) {
  Attributes attributes(kSpanAttributes, limits);
  attributes.Int("ferret.step", step.number);
  attributes.Int("thread.id", step.os_tid);
  attributes.Text("ferret.detail", step.detail.empty() ? "none" : step.detail);
  if (step.cut > 0) attributes.Int("ferret.spans.cut", static_cast<int64_t>(step.cut));
  if (step.lost > 0) attributes.Int("ferret.lost", static_cast<int64_t>(step.lost));
  std::array<int64_t, kPhaseCount> sums{};
  for (const StepPhases::Interval& phase : phases) sums[static_cast<size_t>(phase.phase)] += phase.busy_ns;
  for (size_t i = 0; i < kPhaseCount; ++i) {
    const std::string_view name = PhaseText(static_cast<Phase>(i));
    if (sums[i] > 0) attributes.Int(absl::StrCat("ferret.phase.", absl::string_view(name.data(), name.size()), "_ns"), sums[i]);
  }
  root.name = "ProfilerStep";
  root.start_ns = step.start_ns;
  root.end_ns = step.end_ns;
  root.attributes = attributes.view();
  root.dropped_attributes = attributes.dropped();
  send(root);
}

// `span` has the id and the parent.
template <typename Attributes, typename Send>
void SendPhase(Span span, const StepPhases::Interval& phase, const AttributeLimits& limits, const Send& send) {
  Attributes attributes(kSpanAttributes, limits);
  attributes.Text("ferret.phase", PhaseText(phase.phase));
  if (phase.busy_ns != phase.end_ns - phase.start_ns) attributes.Int("ferret.phase.busy_ns", phase.busy_ns);
  span.name = PhaseText(phase.phase);
  span.start_ns = phase.start_ns;
  span.end_ns = phase.end_ns;
  span.attributes = attributes.view();
  span.dropped_attributes = attributes.dropped();
  send(span);
}

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_STEP_ROOT_H_
