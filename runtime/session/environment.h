// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The process's environment as Options.
//
// Read once, at the start of a session, on the thread that starts it: getenv is not safe beside setenv. A bad value is
// an error and not a default put in its place: the caller prints it as one line and does not record.

#ifndef FERRET_RUNTIME_SESSION_ENVIRONMENT_H_
#define FERRET_RUNTIME_SESSION_ENVIRONMENT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/session/options.h"

namespace ferret {

// getenv, or a test's own. Null means that the variable is not set.
using GetEnv = absl::FunctionRef<const char*(const char* name)>;

// Whether FERRET_EXPORT asks for a recording. If not, nothing else in the environment matters to anyone.
bool RecordingRequested(GetEnv getenv);

absl::StatusOr<Options> OptionsFromEnvironment(GetEnv getenv);

// For the process itself, as runtime/environment sees it.
bool RecordingRequested();
absl::StatusOr<Options> OptionsFromEnvironment();

// One line about the FERRET_* names in `environment` (as ::environ) that mean nothing, with what was probably meant;
// empty if there are none.
std::string UnknownVariables(const char* const* environment);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_ENVIRONMENT_H_
