// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a process whose threads have all ended by themselves: it would have ended with the last of them, were it not
// for Ferret's.

#ifndef FERRET_RUNTIME_SESSION_LAST_THREAD_H_
#define FERRET_RUNTIME_SESSION_LAST_THREAD_H_

namespace ferret {

// Has the process exit, as the last of the program's threads would have had it, if only Ferret's are left. To be called
// every few seconds on one of them, as long as there are any. Returns: the exit is another thread's.
void EndProcessIfOnlyFerretIsLeft();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_LAST_THREAD_H_
