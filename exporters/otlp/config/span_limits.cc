// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How much a span may hold: OTEL_SPAN_*_LIMIT, and OTEL_ATTRIBUTE_*_LIMIT where those are not set.

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/config/config_parts.h"

namespace ferret::otlp {
namespace {

std::optional<int64_t> Limit(const OtlpVariables& variables, const char* own, const char* common) {
  const std::optional<int64_t> limit = variables.Number(own, 0);
  return limit.has_value() ? limit : variables.Number(common, 0);
}

// Where there are never more than a few, none is left out.
void WarnIfBelow(const OtlpVariables& variables, const char* name, int64_t few) {
  const std::optional<int64_t> limit = variables.Number(name, 0);
  if (!limit.has_value() || *limit >= few) return;
  variables.Ignore(name, absl::StrCat(*limit), absl::StrCat("there are at most ", few, ", and none is left out"));
}

}  // namespace

void ReadLimits(const OtlpVariables& variables, OtlpConfig* config) {
  if (const auto attributes = Limit(variables, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")) {
    config->most_attributes = static_cast<size_t>(*attributes);
  }
  if (const auto chars = Limit(variables, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")) {
    config->most_value_chars = static_cast<size_t>(*chars);
  }
  // Events carry what has no other place, so there is at least one; and no span is made larger than by default.
  if (const auto events = variables.Number("OTEL_SPAN_EVENT_COUNT_LIMIT", 1)) {
    config->most_events = std::min(static_cast<size_t>(*events), config->most_events);
  }
  WarnIfBelow(variables, "OTEL_SPAN_LINK_COUNT_LIMIT", 4);
  WarnIfBelow(variables, "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", 4);
  WarnIfBelow(variables, "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", 16);
}

}  // namespace ferret::otlp
