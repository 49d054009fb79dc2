// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/flight_signal.h"

#include <errno.h>
#include <signal.h>

#include <atomic>

namespace ferret {
namespace {

// Null before a session needed it.
std::atomic<FlightBell*> g_bell{nullptr};
// 0: none. Changed under the session lock, or in a forked child.
int g_signal = 0;

void OnSignal(int) {
  const int error = errno;
  g_bell.load(std::memory_order_acquire)->RingForSignal();
  errno = error;
}

// A handler with three arguments is not ours.
bool Handles(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

}  // namespace

FlightBell* FlightSignal::Bell() {
  static FlightBell* const bell = new FlightBell;
  g_bell.store(bell, std::memory_order_release);
  return bell;
}

bool FlightSignal::Install(int signal) {
  struct sigaction before;
  if (sigaction(signal, nullptr, &before) != 0 || !Handles(before, SIG_DFL)) return false;
  Bell();
  struct sigaction ours = {};
  ours.sa_handler = &OnSignal;
  // A program that does not know of the signal sees nothing of it: no call is cut short, and small stacks are spared.
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  if (sigaction(signal, &ours, nullptr) != 0) return false;
  g_signal = signal;
  return true;
}

void FlightSignal::Remove() {
  if (g_signal == 0) return;
  struct sigaction now;
  if (sigaction(g_signal, nullptr, &now) == 0 && Handles(now, &OnSignal)) {
    struct sigaction before = {};
    before.sa_handler = SIG_DFL;
    sigaction(g_signal, &before, nullptr);
  }
  g_signal = 0;
}

}  // namespace ferret
