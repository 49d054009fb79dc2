// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/environment.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/environment/process_environment.h"
#include "runtime/session/variables.h"

namespace ferret {
namespace {

// Names that Ferret's build and tests use; a shell that has them set is not mistaken.
constexpr absl::string_view kNotOurs[] = {"FERRET_PYTHON", "FERRET_VENV", "FERRET_READERS_PYTHON"};

bool IsKnown(absl::string_view name) {
  for (const Variable& variable : Variables()) {
    if (name == variable.name) return true;
  }
  return std::find(std::begin(kNotOurs), std::end(kNotOurs), name) != std::end(kNotOurs);
}

// Insertions, removals and replacements that turn one into the other (Levenshtein).
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The variable that `name` is at most three typing mistakes away from; empty if none is that near.
absl::string_view Nearest(absl::string_view name) {
  absl::string_view nearest;
  size_t least = 4;
  for (const Variable& variable : Variables()) {
    const size_t distance = Distance(name, variable.name);
    if (variable.kind == Variable::Kind::kInternal || distance >= least) continue;
    least = distance;
    nearest = variable.name;
  }
  return nearest;
}

}  // namespace

bool RecordingRequested(GetEnv getenv) {
  const char* value = getenv("FERRET_EXPORT");
  return value != nullptr && *value != '\0';
}

absl::StatusOr<Options> OptionsFromEnvironment(GetEnv getenv) {
  Options options;
  for (const Variable& variable : Variables()) {
    const char* value = getenv(variable.name);
    if (value == nullptr) continue;
    absl::Status status = SetVariable(variable, value, &options);
    if (!status.ok()) return status;
  }
  return options;
}

bool RecordingRequested() { return RecordingRequested(EnvironmentVariable); }

absl::StatusOr<Options> OptionsFromEnvironment() { return OptionsFromEnvironment(EnvironmentVariable); }

std::string UnknownVariables(const char* const* environment) {
  constexpr int kMostNamed = 5;
  // No variable is longer; the cut also bounds the work on a name that somebody else chose.
  constexpr size_t kLongestName = 64;
  std::string line;
  int unknown = 0;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    absl::string_view entry = *environment;
    const size_t equals = entry.find('=');
    const absl::string_view name = entry.substr(0, equals);
    // Set but empty is the same as not set.
    if (!absl::StartsWith(name, "FERRET_") || equals == absl::string_view::npos || equals + 1 == entry.size()) continue;
    if (IsKnown(name) || ++unknown > kMostNamed) continue;
    const absl::string_view nearest = Nearest(name.substr(0, kLongestName));
    absl::StrAppend(&line, line.empty() ? "not a variable of Ferret: " : ", ", Quoted(name));
    if (!nearest.empty()) absl::StrAppend(&line, " (did you mean ", nearest, "?)");
  }
  if (unknown > kMostNamed) absl::StrAppend(&line, " and ", unknown - kMostNamed, " more");
  return line;
}

}  // namespace ferret
