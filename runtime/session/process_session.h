// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The process's session: the functions of ferret/session.h over one SessionRun, and what starts and ends it by itself.

#ifndef FERRET_RUNTIME_SESSION_PROCESS_SESSION_H_
#define FERRET_RUNTIME_SESSION_PROCESS_SESSION_H_

#include <vector>

#include "absl/status/status.h"
#include "runtime/session/options.h"
#include "runtime/session/session_run.h"

namespace ferret {

// Starts a session with these options, and these exporters besides those that options.exporters names.
absl::Status StartSession(const Options& options, std::vector<NamedExporter> more);
// The same in a forked child whose parent's session has these. OK without one if a Stop came before.
absl::Status RestartSession(const Options& options);
absl::Status StopSession(absl::Duration timeout);
// FERRET_STOP_DEADLINE, as of the latest session.
absl::Duration DefaultStopTimeout();

// If the environment asks for it. One line on stderr if it asks for something impossible; recording is then off.
void StartSessionFromEnvironment();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_PROCESS_SESSION_H_
