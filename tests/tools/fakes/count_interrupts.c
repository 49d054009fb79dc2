// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints "ready", then how many SIGINT came in the next 300 ms. With an argument it first leaves its process group, so
// that a terminal's signals do not reach it.

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  (void)argv;
  // A background process that writes to its terminal may be stopped by it.
  signal(SIGTTOU, SIG_IGN);
  if (argc > 1 && setpgid(0, 0) != 0) return 1;
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, NULL);
  printf("ready\n");
  fflush(stdout);
  int count = 0;
  const struct timespec patience = {0, 300 * 1000 * 1000};
  while (sigtimedwait(&interrupt, NULL, &patience) == SIGINT) ++count;
  printf("%d\n", count);
  return 0;
}
