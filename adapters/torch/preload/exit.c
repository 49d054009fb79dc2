// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands before _exit, by which Python's multiprocessing has its children leave: nothing of theirs runs then, and what
// they recorded last would be lost. Does nothing but leave unless libferret.so has asked to be told.

#define _GNU_SOURCE

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/session/exit_hook.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void ferret_preload_before_exit(void (*leaving)(void));

typedef void (*leaving_function)(void);
// Release by libferret.so, acquired by whoever leaves.
static _Atomic(leaving_function) told;

void ferret_preload_before_exit(void (*leaving)(void)) { atomic_store_explicit(&told, leaving, memory_order_release); }

EXPORTED void _exit(int status) {
  const leaving_function leaving = atomic_load_explicit(&told, memory_order_acquire);
  if (leaving != NULL) leaving();
  for (;;) syscall(SYS_exit_group, status);
}

EXPORTED void _Exit(int status) { _exit(status); }
