// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret inspect`: what a process is doing, or was when it died, from its crash file. The process is not asked, stopped
// or written to.

#ifndef FERRET_TOOLS_INSPECT_H_
#define FERRET_TOOLS_INSPECT_H_

namespace ferret {

// `arguments` is what follows "inspect", ending with null. Returns an exit status.
int Inspect(char** arguments);

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_H_
