// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Resource: who records, as OpenTelemetry describes it: the service, the process, its rank and its job.
//
// What the user says of it comes from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. It goes before what Ferret finds
// out, except for what makes the output what it is: ferret.*, process.pid and telemetry.sdk.*.

#ifndef FERRET_EXPORTERS_OTLP_RESOURCE_RESOURCE_H_
#define FERRET_EXPORTERS_OTLP_RESOURCE_RESOURCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/otlp/spans/span_ids.h"
#include "runtime/export/exporter.h"

namespace ferret::otlp {

// As getenv: null for a variable that is not set.
using GetEnv = std::function<const char*(const char* name)>;
// The process's own; in a program with more rights than its caller, nothing is set.
GetEnv ProcessEnvironment();

// OTEL_* variables as far as they concern what is said of the process, read once.
struct ResourceEnvironment {
  bool disabled = false;     // OTEL_SDK_DISABLED
  std::string service_name;  // OTEL_SERVICE_NAME; empty if not set
  std::vector<std::pair<std::string, std::string>> attributes;  // OTEL_RESOURCE_ATTRIBUTES; keys are unique
  // One line for each value that could not be used; the value is ignored.
  std::vector<std::string> warnings;
};
ResourceEnvironment ReadResourceEnvironment(const GetEnv& getenv);
ResourceEnvironment ReadResourceEnvironment();  // of ProcessEnvironment()

// The value of OTEL_RESOURCE_ATTRIBUTES: key=value,key=value, both percent-encoded. An error makes all of it void.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseResourceAttributes(std::string_view text);

class Resource {
 public:
  // `executable` is the file name of the program.
  Resource(const SessionInfo& info, const std::string& run_id, const std::string& executable,
           const ResourceEnvironment& environment);

  template <typename Attributes>
  void AppendTo(Attributes* out) const {
    for (const auto& [key, value] : attributes_) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        out->Int(key, *number);
      } else {
        out->Text(key, std::get<std::string>(value));
      }
    }
  }

 private:
  using Attribute = std::pair<std::string, std::variant<std::string, int64_t>>;
  void Add(std::string_view key, std::variant<std::string, int64_t> value);

  // The run and the process first: a file is known by them, see document_head.h.
  std::vector<Attribute> attributes_;
};

// The file name of /proc/self/exe, or what is known of it otherwise.
std::string ExecutableName(const SessionInfo& info);

// The ids depend on nothing that is not in the resource.
ProcessKey KeyOf(const SessionInfo& info, const std::string& run_id);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_RESOURCE_RESOURCE_H_
