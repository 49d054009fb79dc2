// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/at_exit.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "runtime/session/process_session.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

constexpr int kMostHandlers = 64;
std::atomic<int> g_handlers{0};  // relaxed: a count

// Any number of times: the second one finds no session.
void AtExit() {
  const absl::Status status = StopSession(DefaultStopTimeout());
  // Exporters have said themselves what went wrong with them.
  if (absl::IsDeadlineExceeded(status)) WriteStderrLine(std::string(status.message()));
}

}  // namespace

void StopSessionAtExit() { std::atexit(&AtExit); }

void StopSessionBeforeExitHandlersSoFar() {
  if (g_handlers.fetch_add(1, std::memory_order_relaxed) < kMostHandlers) std::atexit(&AtExit);
}

}  // namespace ferret
