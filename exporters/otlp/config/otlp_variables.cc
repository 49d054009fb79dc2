// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/otlp_variables.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/json_text.h"

namespace ferret::otlp {
namespace {

// Other SDKs read into 32 bits, too; and no sum of such times overflows.
constexpr int64_t kMostNumber = std::numeric_limits<int32_t>::max();
// Of a value in a warning.
constexpr size_t kMostShown = 100;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string OtlpVariables::Text(const std::string& name) const {
  const char* const value = getenv_(name.c_str());
  return value == nullptr ? "" : value;
}

std::optional<size_t> OtlpVariables::Word(const std::string& name, const std::vector<std::string>& words) const {
  const std::string value = Text(name);
  if (value.empty()) return std::nullopt;
  const auto word = std::find(words.begin(), words.end(), absl::AsciiStrToLower(value));
  if (word != words.end()) return static_cast<size_t>(word - words.begin());
  Ignore(name, value, absl::StrCat("allowed is ", absl::StrJoin(words, ", ")));
  return std::nullopt;
}

std::optional<bool> OtlpVariables::Bool(const std::string& name) const {
  const std::string value = Text(name);
  if (value.empty()) return std::nullopt;
  const std::string lower = absl::AsciiStrToLower(value);
  if (lower != "true" && lower != "false") {
    Warn(absl::StrCat(name, "=", QuotedJson(value.substr(0, kMostShown)), " is taken for false; only true is true"));
  }
  return lower == "true";
}

std::optional<int64_t> OtlpVariables::Number(const std::string& name, int64_t min) const {
  const std::string value = Text(name);
  if (value.empty()) return std::nullopt;
  int64_t number = 0;
  // SimpleAtoi alone would take a sign and spaces.
  if (std::all_of(value.begin(), value.end(), absl::ascii_isdigit) && absl::SimpleAtoi(value, &number) &&
      number >= min && number <= kMostNumber) {
    return number;
  }
  Ignore(name, value, absl::StrCat("allowed is a whole number from ", min, " to ", kMostNumber));
  return std::nullopt;
}

std::optional<absl::Duration> OtlpVariables::Milliseconds(const std::string& name) const {
  const std::optional<int64_t> number = Number(name, 0);
  if (!number.has_value()) return std::nullopt;
  return absl::Milliseconds(*number);
}

std::optional<Headers> OtlpVariables::HeaderList(const std::string& name) const {
  const std::string value = Text(name);
  if (value.empty()) return std::nullopt;
  absl::StatusOr<Headers> headers = ParseHeaders(value);
  if (headers.ok()) return *std::move(headers);
  Warn(absl::StrCat(name, " is ignored: ", headers.status().message()));
  return std::nullopt;
}

void OtlpVariables::Warn(const std::string& line) const {
  if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end()) warnings_.push_back(line);
}

void OtlpVariables::Ignore(const std::string& name, std::string_view value, std::string_view reason) const {
  Warn(absl::StrCat(name, "=", QuotedJson(value.substr(0, kMostShown)), " is ignored: ", View(reason)));
}

}  // namespace ferret::otlp
