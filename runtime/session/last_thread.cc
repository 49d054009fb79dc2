// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/last_thread.h"

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "runtime/threads/own_threads.h"

namespace ferret {
namespace {

// By one thread: the drain's and the watch for _exit may both look. A child that is forked meanwhile has other threads
// beside them.
std::atomic<bool> g_ends{false};

}  // namespace

void EndProcessIfOnlyFerretIsLeft() {
  if (!OnlyFerretsThreadsAreLeft() || g_ends.exchange(true)) return;
  try {
    // Not here: exiting stops the session, which waits for its threads.
    std::thread([] { std::exit(0); }).detach();
  } catch (const std::system_error&) {  // no more threads: tried again the next time
    g_ends = false;
  }
}

}  // namespace ferret
