// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The signal mask of Ferret's own threads, the drain's and the exporters'.

#ifndef FERRET_RUNTIME_THREADS_BACKGROUND_THREAD_H_
#define FERRET_RUNTIME_THREADS_BACKGROUND_THREAD_H_

#include <pthread.h>
#include <signal.h>

namespace ferret {

// While it lives, threads that the calling thread makes inherit a mask that leaves the host's signals to the host's
// threads. Only what a thread itself would cause, by a fault, stays deliverable: blocked, it would kill the process
// without the handlers that the host installed to explain it.
class BlockSignalsForNewThread {
 public:
  BlockSignalsForNewThread() {
    sigset_t signals;
    sigfillset(&signals);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&signals, fault);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~BlockSignalsForNewThread() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignalsForNewThread(const BlockSignalsForNewThread&) = delete;
  BlockSignalsForNewThread& operator=(const BlockSignalsForNewThread&) = delete;

 private:
  sigset_t before_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_THREADS_BACKGROUND_THREAD_H_
