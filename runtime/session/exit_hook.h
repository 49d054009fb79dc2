// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Between libferret_preload.so, which stands before _exit, and libferret.so, which has something to do there. C, because
// the preloaded library needs nothing but libc.

#ifndef FERRET_RUNTIME_SESSION_EXIT_HOOK_H_
#define FERRET_RUNTIME_SESSION_EXIT_HOOK_H_

// `void ferret_preload_before_exit(void (*leaving)(void))`: for the rest of the process and for its children, `leaving` is
// called when it leaves by _exit; perhaps in a signal handler, or in the child of a vfork.
#define FERRET_PRELOAD_BEFORE_EXIT "ferret_preload_before_exit"
typedef void (*ferret_preload_before_exit_function)(void (*leaving)(void));

#endif /* FERRET_RUNTIME_SESSION_EXIT_HOOK_H_ */
