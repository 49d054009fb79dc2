// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_preload.so: brings libferret_torch.so into a process as soon as PyTorch is in it, and not before.
//
// Preloaded, this library is in every process of a run: shells, launchers, Pythons that never see PyTorch. So it is a
// few kilobytes that need only libc, and does nothing at all unless FERRET_EXPORT is set when the process starts.
// PyTorch comes in by the program's own links, which the constructor sees, or by dlopen, which this library defines
// before libc does.
//
// The loader looks at its caller: a name without a slash is searched for in the RPATH or RUNPATH of the object that
// dlopen returns to, and $ORIGIN is that object's folder. There dlopen ends in a jump to the real one, which then sees
// our caller and not us, and PyTorch is looked for at the next call of any kind. For a path, which is how Python loads
// its modules, the real one is called first and PyTorch looked for afterwards, before the caller can have used it.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adapters/torch/preload/real_dlopen.h"

#define EXPORTED __attribute__((visibility("default")))

// Relaxed everywhere: the value is the same whoever finds it.
static _Atomic(dlopen_function) real_dlopen;

enum { kOff, kWatching, kDone };
// kOff until the constructor has run. kWatching, released there, is acquired in LookForTorch and makes adapter_path
// visible. kDone is set once, by the thread that loads the adapter; what the adapter does is ordered by the loader's
// lock.
static atomic_int state;

// Written by the constructor before the state is kWatching.
static char adapter_path[PATH_MAX];

dlopen_function RealDlopen(void) {
  dlopen_function function = atomic_load_explicit(&real_dlopen, memory_order_relaxed);
  if (function == NULL) {
    function = (dlopen_function)dlsym(RTLD_NEXT, "dlopen");
    atomic_store_explicit(&real_dlopen, function, memory_order_relaxed);
  }
  return function;
}

static int IsTorch(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* slash = strrchr(info->dlpi_name, '/');
  return strcmp(slash == NULL ? info->dlpi_name : slash + 1, "libtorch_cpu.so") == 0;
}

// Without the signal that ends a program whose reader went away, or whose file grew over a limit.
static void Say(const char* reason) {
  sigset_t write_signals, before;
  sigemptyset(&write_signals);
  sigaddset(&write_signals, SIGPIPE);
  sigaddset(&write_signals, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &write_signals, &before);  // the thread's, on Linux
  char line[PATH_MAX + 256];
  const int length = snprintf(line, sizeof(line), "ferret: PyTorch is not recorded: %s\n", reason);
  const size_t size = length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1;
  if (write(STDERR_FILENO, line, size) < 0) {
    const struct timespec none = {0, 0};
    if (sigismember(&before, SIGPIPE) == 1) sigdelset(&write_signals, SIGPIPE);
    if (sigismember(&before, SIGXFSZ) == 1) sigdelset(&write_signals, SIGXFSZ);
    while (sigtimedwait(&write_signals, NULL, &none) > 0) {
    }
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

// Loads the adapter if PyTorch is there. Any thread, any number of times.
static void LookForTorch(void) {
  if (atomic_load_explicit(&state, memory_order_acquire) != kWatching) return;
  // A list walk, where RTLD_NOLOAD would search the file system for a name that is not loaded.
  if (dl_iterate_phdr(IsTorch, NULL) == 0) return;
  int watching = kWatching;
  if (!atomic_compare_exchange_strong(&state, &watching, kDone)) return;
  const int saved_errno = errno;
  // Now: a library that does not fit this PyTorch fails here and not in the middle of training. Local: PyTorch's
  // symbols come from the adapter's own dependencies, found by their names in the process, and the adapter's stay its
  // own.
  if (RealDlopen()(adapter_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL) {
    const char* reason = dlerror();
    Say(reason == NULL ? adapter_path : reason);
  }
  errno = saved_errno;
}

// Whether loading `name` does not depend on who asks: a path, with nothing in it to expand. (The dependencies of what a
// path leads to are looked for without regard to the caller, too.)
static int IsPlainPath(const char* name) { return strchr(name, '/') != NULL && strchr(name, '$') == NULL; }

EXPORTED void* dlopen(const char* name, int mode) {
  if (atomic_load_explicit(&state, memory_order_relaxed) == kWatching) {
    LookForTorch();
    if (name != NULL && IsPlainPath(name)) {
      void* handle = RealDlopen()(name, mode);
      // After a failure dlerror must go on saying why.
      if (handle != NULL) LookForTorch();
      return handle;
    }
  }
  // A tail call, by the options this file is compiled with (and its test).
  return RealDlopen()(name, mode);
}

// Writes the path of the adapter: beside this library as installed, one folder up as built. False if neither is there.
static int FindAdapter(void) {
  Dl_info self;
  if (dladdr(adapter_path, &self) == 0) return 0;
  char library[PATH_MAX];
  if (realpath(self.dli_fname, library) == NULL) return 0;
  *strrchr(library, '/') = '\0';
  static const char* const kPlaces[] = {"", "/.."};
  for (size_t i = 0; i < sizeof(kPlaces) / sizeof(kPlaces[0]); ++i) {
    const int length =
        snprintf(adapter_path, sizeof(adapter_path), "%s%s/libferret_torch.so", library, kPlaces[i]);
    if (length < (int)sizeof(adapter_path) && access(adapter_path, F_OK) == 0) return 1;
  }
  return 0;
}

__attribute__((constructor)) static void Start(void) {
  const char* exporters = secure_getenv("FERRET_EXPORT");
  if (exporters == NULL || *exporters == '\0') return;
  const int saved_errno = errno;
  if (FindAdapter()) {
    atomic_store_explicit(&state, kWatching, memory_order_release);
    LookForTorch();
  }
  errno = saved_errno;
}
