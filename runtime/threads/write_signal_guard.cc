// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/threads/write_signal_guard.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

namespace ferret {
namespace {

sigset_t WriteSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

WriteSignalGuard::WriteSignalGuard() {
  const sigset_t wanted = WriteSignals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  block_pipe_ = sigismember(&before, SIGPIPE) == 0;
  block_size_ = sigismember(&before, SIGXFSZ) == 0;
}

WriteSignalGuard::~WriteSignalGuard() {
  if (!block_pipe_ && !block_size_) return;
  const int error = errno;
  sigset_t mine;
  sigemptyset(&mine);
  if (block_pipe_) sigaddset(&mine, SIGPIPE);
  if (block_size_) sigaddset(&mine, SIGXFSZ);
  // Both are sent to the thread that wrote, so a pending one is ours to take, before it would be delivered.
  sigset_t pending;
  sigpending(&pending);
  if (sigismember(&pending, SIGPIPE) != 0 || sigismember(&pending, SIGXFSZ) != 0) {
    const timespec none = {0, 0};
    while (sigtimedwait(&mine, nullptr, &none) > 0) {
    }
  }
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  errno = error;
}

}  // namespace ferret
