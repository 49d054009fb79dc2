// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The flight recorder: a session that keeps the latest events in memory and exports nothing until something asks for it.
//
//     ferret::Flight flight;
//     flight.size_bytes = 64 << 20;         // the latest 64 MiB of events,
//     flight.last_ns = 30'000'000'000;      // and of them the last 30 seconds,
//     flight.slow_factor = 2;               // written when a step takes twice the usual time,
//     ferret::Start("chrome_trace:trace.json", flight);
//     ...
//     ferret::Dump();                       // or when the program says so (session.h)
//
// Each dump is an output of its own: trace-dump1.json, trace-dump2.json, …, with the scopes that are open at that moment
// marked as truncated. What is kept is counted back from the latest event, not from now: after a hang the seconds before it
// are still there. Recording costs what it always does; memory is that of the events kept, and while a dump is being written
// up to as much again. With FERRET_CRASH_DIR a kill leaves what a dump would have had, for `ferret recover`.

#ifndef FERRET_FLIGHT_H_
#define FERRET_FLIGHT_H_

#include <cstdint>

namespace ferret {

struct Flight {
  // Memory of the events that are kept; 0: no flight recorder.
  uint64_t size_bytes = 0;
  // How far back they reach, by what one batch holds more; 0: as far as the memory does.
  uint64_t last_ns = 0;

  // What asks for a dump, besides ferret::Dump. A signal that the program does not handle itself: SIGUSR1, SIGUSR2,
  // SIGHUP, SIGQUIT or SIGWINCH; 0: none.
  int signal = 0;
  // A training step that takes longer than that, or so many times the median of the latest ones; 0: none.
  uint64_t slow_ns = 0;
  double slow_factor = 0;
  // The end of the session.
  bool at_exit = false;

  // A session makes no more dumps than that, but for the one at its end.
  uint64_t dumps = 10;
};

}  // namespace ferret

#endif  // FERRET_FLIGHT_H_
