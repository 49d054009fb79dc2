// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FlightSignal: the signal that asks a flight recorder for a dump. Only one that the program leaves alone: whoever handles
// or ignores it goes first.

#ifndef FERRET_RUNTIME_SESSION_FLIGHT_SIGNAL_H_
#define FERRET_RUNTIME_SESSION_FLIGHT_SIGNAL_H_

#include "runtime/export/flight_bell.h"

namespace ferret {

class FlightSignal {
 public:
  // What the handler rings, in every session. Never destroyed: a signal may be under way when a session ends.
  static FlightBell* Bell();

  // Under the session lock. Handles the signal from here to Remove; false if the program does, or ignores it.
  static bool Install(int signal);
  // The signal does again what it did before, unless the program has taken it over. Nothing without Install.
  static void Remove();

  // The child has no recorder: the signal is what it was. Async-signal-safe.
  static void AfterForkInChild() { Remove(); }
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_FLIGHT_SIGNAL_H_
