// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of the session when the process exits.
//
// Handlers of exit and destructors of statics run in the reverse order of their making, so the session stops before
// whatever was made earlier is gone. An exporter that brings libraries of its own has to say so: theirs are made later.

#ifndef FERRET_RUNTIME_SESSION_AT_EXIT_H_
#define FERRET_RUNTIME_SESSION_AT_EXIT_H_

namespace ferret {

// From here on.
void StopSessionAtExit();
// Before every handler that was made until now, too. Any thread. Costs a handler each time, so not without end: libraries
// are loaded by the first exporters of a process.
void StopSessionBeforeExitHandlersSoFar();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_AT_EXIT_H_
