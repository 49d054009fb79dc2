// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of Ferret in a forked child.
//
//   parent records, FERRET_FORK=off        nothing is recorded in the child
//   parent records, FERRET_FORK=restart    the child's first record starts a session of its own: other files, other threads,
//                                          other queues; a child that records nothing starts nothing
//   parent has recorded before             nothing is recorded until the child starts a session, with FERRET_FORK=restart
//   parent has never recorded              the child is a process like any other
//
// A child of a child is in the same case as its parent. What the parent's session had is left where it is in the child,
// neither used nor freed: other threads, which do not exist there, may have been in the middle of anything. Locks that a
// session in the child needs are held around the fork, or made anew in the child; the host's are not waited for.

#ifndef FERRET_RUNTIME_SESSION_PROCESS_FORK_H_
#define FERRET_RUNTIME_SESSION_PROCESS_FORK_H_

#include "runtime/session/options.h"

namespace ferret {

// Before the first session: from then on the process's forks are taken care of.
void PrepareForForks();

// A session has started with these options, which a child will have too; and it is over. Under the session lock.
void SetForkPlan(const Options& options);
void ClearForkPlan();
bool HasForkPlan();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_PROCESS_FORK_H_
