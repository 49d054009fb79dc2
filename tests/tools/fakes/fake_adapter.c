// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands for libferret_torch.so: needs libtorch_cpu.so without saying where it is, and leaves a line in $FAKE_LOG for
// each time that it is initialised.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int fake_torch(void);

__attribute__((constructor)) static void Start(void) {
  // A library of the adapter's own: the preload must not take it for a reason to load the adapter again.
  const char* inner = getenv("FAKE_INNER");
  if (inner != NULL && dlopen(inner, RTLD_NOW) == NULL) abort();
  const char* log = getenv("FAKE_LOG");
  const int file = open(log == NULL ? "/dev/null" : log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const char* line = fake_torch() == 42 ? "adapter\n" : "broken\n";
  if (write(file, line, 8) < 0) abort();
  close(file);
}
