// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Turning recording on and off. A program that only sets FERRET_EXPORT needs none of this: recording then starts when
// the library is loaded and stops when the process exits.
//
// Every function may be called from any thread at any time, twice, and concurrently. Start and Stop are serialised by one
// lock, which no recording thread takes but the one whose first record starts the session of a forked child. None throws. Errors are returned as text, never printed. Not in signal
// handlers.

#ifndef FERRET_SESSION_H_
#define FERRET_SESSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ferret/internal/hot_path.h"
#include "ferret/device_loss.h"
#include "ferret/flight.h"
#include "ferret/loss.h"
#include "ferret/schedule.h"

namespace ferret {

// "" is success; anything else is one line of English that names what is wrong and what is allowed.
using Error = std::string;

// Starts a session that exports as FERRET_EXPORT would, for example Start("chrome_trace:trace.json"). All other
// options come from the environment. Fails when a session is on, on bad options, in the child of a process that had
// recorded when it forked, unless FERRET_FORK is restart, and in one that was made by the clone system call.
FERRET_EXPORT_SYMBOL Error Start(const std::string& exporters);

// The same, recording only when the schedule says so, whatever FERRET_SCHEDULE is.
FERRET_EXPORT_SYMBOL Error Start(const std::string& exporters, const Schedule& schedule);

// The same as a flight recorder, whatever FERRET_FLIGHT is (see flight.h).
FERRET_EXPORT_SYMBOL Error Start(const std::string& exporters, const Flight& flight);

// Ends the session: everything recorded before the call is exported, files are complete when it returns. Returns
// within the deadline (default: FERRET_STOP_DEADLINE, 2 s), reporting what had to be abandoned. Without a session it
// does nothing and succeeds.
FERRET_EXPORT_SYMBOL Error Stop();
FERRET_EXPORT_SYMBOL Error Stop(int64_t deadline_ms);

// Exports everything recorded before the call and makes it durable, without ending the session. The same deadlines.
FERRET_EXPORT_SYMBOL Error Flush();
FERRET_EXPORT_SYMBOL Error Flush(int64_t deadline_ms);

// Has a flight recorder write what it keeps, and returns without waiting for it: a thread of Ferret's does that, once, also
// for other calls that come before it has begun. Flush waits until it is written. Fails without a flight recorder, and when
// there have been as many dumps as allowed. Not for signal handlers (Flight::signal is).
FERRET_EXPORT_SYMBOL Error Dump();

// False also in the session's pauses, if it has a schedule.
FERRET_EXPORT_SYMBOL bool IsRecording();

// What the current session lost while recording, or the last one, per reason. Exact once the session has stopped, but for
// a thread that was in the middle of a record at that moment (kStoppedRace, counted when it records again). What an
// exporter lost is its own: it is in its output, and in the line of `ferret run`.
FERRET_EXPORT_SYMBOL LossCounts Losses();

// The same for each thread that lost anything.
struct ThreadLoss {
  uint32_t thread = 0;  // as ThreadId()
  LossCounts lost;
};
FERRET_EXPORT_SYMBOL std::vector<ThreadLoss> LossesByThread();

// What became of the scopes whose time on a device was asked for, in the current session or the last one. What the device
// has not got to yet is asked for, and neither timed nor lost; once the session has stopped there is no such thing.
FERRET_EXPORT_SYMBOL DeviceCounts DeviceLosses();
// One line on the CUDA driver: what was found, or why nothing is timed. Empty until the first scope asks.
FERRET_EXPORT_SYMBOL std::string CudaStatus();

}  // namespace ferret

#endif  // FERRET_SESSION_H_
