// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/otlp_parameters.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferret::otlp {
namespace {

// A hundred times any median is not a slow step but a stopped one; beyond this a typing mistake.
constexpr double kMostFactor = 1000;
// A day: no flush and no request waits longer on purpose.
constexpr absl::Duration kMostDuration = absl::Hours(24);

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::Status BadParameter(const ExporterSpec& spec, std::string_view key, std::string_view allowed) {
  const std::string* const text = FindParameter(spec, key);
  return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", View(key), "=", text == nullptr ? "" : ShownText(*text),
                                                 " is not allowed; allowed is ", View(allowed)));
}

absl::StatusOr<std::optional<size_t>> WordParameter(const ExporterSpec& spec, std::string_view key,
                                                    const std::vector<std::string>& words) {
  const std::string* const text = FindParameter(spec, key);
  if (text == nullptr) return std::optional<size_t>();
  const auto word = std::find(words.begin(), words.end(), *text);
  if (word == words.end()) return BadParameter(spec, key, absl::StrJoin(words, ", "));
  return std::optional<size_t>(word - words.begin());
}

absl::StatusOr<std::optional<bool>> SwitchParameter(const ExporterSpec& spec, std::string_view key) {
  const absl::StatusOr<std::optional<size_t>> word = WordParameter(spec, key, {"off", "on"});
  if (!word.ok()) return word.status();
  if (!word->has_value()) return std::optional<bool>();
  return std::optional<bool>(**word == 1);
}

absl::StatusOr<std::optional<absl::Duration>> DurationParameter(const ExporterSpec& spec, std::string_view key,
                                                                bool zero) {
  const std::string* const text = FindParameter(spec, key);
  if (text == nullptr) return std::optional<absl::Duration>();
  absl::Duration duration;
  const bool is_time = absl::ParseDuration(*text, &duration);
  if (is_time && zero && duration == absl::ZeroDuration()) return std::optional<absl::Duration>(duration);
  if (!is_time || duration < absl::Milliseconds(1) || duration > kMostDuration) {
    return BadParameter(spec, key, absl::StrCat("a time from 1ms to 24h, like 500ms or 5s", zero ? ", or 0" : ""));
  }
  return std::optional<absl::Duration>(duration);
}

absl::StatusOr<double> FactorParameter(const ExporterSpec& spec, std::string_view key, double absent) {
  const std::string* const text = FindParameter(spec, key);
  if (text == nullptr) return absent;
  double factor = 0;
  // What is no number compares false.
  if (absl::SimpleAtod(*text, &factor) && (factor == 0 || (factor >= 1 && factor <= kMostFactor))) return factor;
  return BadParameter(spec, key, absl::StrCat("a factor from 1 to ", kMostFactor, ", or 0 for off"));
}

}  // namespace ferret::otlp
