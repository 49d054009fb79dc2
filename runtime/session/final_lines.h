// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is said of a session's outputs when it is over.

#ifndef FERRET_RUNTIME_SESSION_FINAL_LINES_H_
#define FERRET_RUNTIME_SESSION_FINAL_LINES_H_

#include "runtime/session/options.h"
#include "runtime/session/session_run.h"

namespace ferret {

// To `ferret run`, if that asked for it, or in a line for each output.
void TellOfOutputs(const Options& options, const SessionRun& run);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_FINAL_LINES_H_
