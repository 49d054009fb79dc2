// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The one table of FERRET_* variables. It drives parsing, `ferret help` and the table in the README.

#ifndef FERRET_RUNTIME_SESSION_VARIABLES_H_
#define FERRET_RUNTIME_SESSION_VARIABLES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/session/options.h"

namespace ferret {

struct Variable {
  enum class Kind {
    kSetting,
    kOutput,    // says where output goes; may carry a credential, so it is not repeated in the output itself
    kInternal,  // set by `ferret run`, not by a user
  };
  const char* name;
  Kind kind;
  const char* allowed;  // completes "expected ..." and fills the column "Value"
  const char* meaning;  // one line
  // Stores the value; false if it is not of the form that `allowed` describes. Ranges are left to Validate().
  bool (*parse)(absl::string_view value, Options* options);
  // The option as text that `parse` takes back; of Options() it is the default.
  std::string (*print)(const Options& options);
};

// In the order in which they are parsed and shown.
absl::Span<const Variable> Variables();

// Parses one variable into options. The error is one line that names the variable, the value and what is allowed;
// options are then unchanged. An empty value is the same as none: nothing happens.
absl::Status SetVariable(const Variable& variable, absl::string_view value, Options* options);

// (name, value) of every setting, for SessionInfo::options.
std::vector<std::pair<std::string, std::string>> DescribeOptions(const Options& options);

// The table as text for a terminal, and as Markdown for the README.
std::string VariablesText();
std::string VariablesMarkdown();

// A value from outside made fit for one line of a diagnostic: quoted, escaped, cut at 200 characters.
std::string Quoted(absl::string_view value);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_VARIABLES_H_
