// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A command run as if it stood in this process's place: it gets the signals that are sent to this process, and this
// process ends the way it ended.
//
// The command stays in the process group, so that the terminal treats both as one job. What the terminal sends
// (Ctrl-C, Ctrl-Z, hang-up) reaches the command by itself and is not passed on a second time. A sender that signals the
// whole group with kill(2) cannot be told from one that means this process: the command then gets the signal twice.

#ifndef FERRET_TOOLS_CHILD_PROCESS_H_
#define FERRET_TOOLS_CHILD_PROCESS_H_

namespace ferret {

struct CommandResult {
  int start_error = 0;  // errno if the command could not be started
  int wait_status = 0;  // as waitpid tells it, otherwise
};

// Finds argv[0] as a shell does, runs it with `environment` and waits for its end. Both arrays end with null. Only from
// a process with one thread. Afterwards the signals that only the command would have understood stay blocked.
CommandResult RunCommand(char* const* argv, char* const* environment);

// Ends this process with the same exit status, or by the same signal.
[[noreturn]] void ExitAs(int wait_status);

}  // namespace ferret

#endif  // FERRET_TOOLS_CHILD_PROCESS_H_
