// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ExitWatch: a thread that outlives sessions, for two ends of a process that nobody else sees.
//
// One is _exit, by which Python's multiprocessing has its children leave: nothing runs there but what stands before it,
// libferret_preload.so, in processes below `ferret run`. What it calls only wakes the thread, and waits for that one to
// complete the outputs, but not for long: _exit may be called in a signal handler, with any lock held.
//
// The other is that the program's threads have all ended while some of Ferret's have not: this one, or one that was
// abandoned because it hangs.

#ifndef FERRET_RUNTIME_SESSION_EXIT_WATCH_H_
#define FERRET_RUNTIME_SESSION_EXIT_WATCH_H_

#include "absl/time/time.h"

namespace ferret {

// Asks the loader, once in a process and its children: in one of these another thread of its parent may have been in the
// middle of loading. Before a session that children may have too, and not under its lock, which libraries that are being
// loaded may want.
void FindExitHook();

// Has `stop` called, on a thread of Ferret's, when this process leaves by _exit, which is held up for `limit` at most; the
// last call's limit holds. Does nothing where there is no preloaded library, or no thread to be had.
void WatchForExit(void (*stop)(), absl::Duration limit);

// A thread of Ferret's was abandoned: sees to it that it does not keep a finished process alive.
void WatchForLastThread();

// In a forked child, which has its parent's hook and not its thread. Allocates nothing.
void ForgetExitWatchInChild();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_EXIT_WATCH_H_
