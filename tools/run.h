// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret run`: runs an unchanged program with recording turned on.

#ifndef FERRET_TOOLS_RUN_H_
#define FERRET_TOOLS_RUN_H_

namespace ferret {

// What ferret itself ends with when it cannot do its part, as env and timeout do.
inline constexpr int kOwnFailure = 125;

// `arguments` is what follows "run", ending with null. Returns an exit status, or ends the process by the signal that
// ended the command.
int Run(char** arguments);

extern const char kRunUsage[];

}  // namespace ferret

#endif  // FERRET_TOOLS_RUN_H_
