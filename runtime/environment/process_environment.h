// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The process's environment, read in one place.
//
// A program that runs with more rights than its caller (setuid, setgid, file capabilities: AT_SECURE) takes no orders from
// the caller's environment: to it nothing is set. Otherwise whoever starts it could have it load a library, or write a
// file, with its rights.

#ifndef FERRET_RUNTIME_ENVIRONMENT_PROCESS_ENVIRONMENT_H_
#define FERRET_RUNTIME_ENVIRONMENT_PROCESS_ENVIRONMENT_H_

#include <stdlib.h>
#include <sys/auxv.h>

namespace ferret {

// Null means that the variable is not set. Not beside setenv.
inline const char* EnvironmentVariable(const char* name) { return secure_getenv(name); }

// Whether the environment counts. For libraries that read it themselves.
inline bool EnvironmentCounts() { return getauxval(AT_SECURE) == 0; }

}  // namespace ferret

#endif  // FERRET_RUNTIME_ENVIRONMENT_PROCESS_ENVIRONMENT_H_
