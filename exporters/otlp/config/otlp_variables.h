// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OtlpVariables: the OTEL_* variables as typed values, by OpenTelemetry's rules for them.
//
// Empty is not set. A value of the wrong form is as good as not set, with one warning that names the variable, the value
// and what is allowed; of headers, which hold credentials, no value is ever shown. Words and booleans may be in any case.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_OTLP_VARIABLES_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_OTLP_VARIABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "exporters/otlp/config/header_list.h"
#include "exporters/otlp/resource/resource.h"

namespace ferret::otlp {

class OtlpVariables {
 public:
  // Each warning is appended once, however often its variable is read. Both arguments must outlive this object.
  OtlpVariables(const GetEnv& getenv, std::vector<std::string>* warnings) : getenv_(getenv), warnings_(*warnings) {}

  // Empty if the variable is not set.
  std::string Text(const std::string& name) const;
  // The index of the value in `words`.
  std::optional<size_t> Word(const std::string& name, const std::vector<std::string>& words) const;
  // "true" is true; anything else is false, with a warning unless it is "false".
  std::optional<bool> Bool(const std::string& name) const;
  std::optional<int64_t> Number(const std::string& name, int64_t min) const;
  std::optional<absl::Duration> Milliseconds(const std::string& name) const;
  std::optional<Headers> HeaderList(const std::string& name) const;

  void Warn(const std::string& line) const;
  // "NAME=value is ignored: reason"
  void Ignore(const std::string& name, std::string_view value, std::string_view reason) const;

 private:
  const GetEnv& getenv_;
  std::vector<std::string>& warnings_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_OTLP_VARIABLES_H_
