// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A flight recorder's limits and triggers as text. Pure functions; flight_session.cc acts on them.

#ifndef FERRET_RUNTIME_SESSION_FLIGHT_OPTIONS_H_
#define FERRET_RUNTIME_SESSION_FLIGHT_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ferret/flight.h"

namespace ferret {

inline constexpr uint64_t kDefaultFlightBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMinFlightBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxFlightBytes = uint64_t{64} << 30;
inline constexpr uint64_t kMaxFlightDumps = 1'000'000;

// "last=30s,size=64M,slow=2x,signal=USR2,dumps=10,at_exit=1" in any order; "64M" and "30s" alone; "on". What is not named
// is as in Flight, and size is 64M. False if it is of no such form. Prints back what it parsed; none is the empty text.
inline constexpr char kFlightForm[] =
    "64M, 30s or last=30s,size=64M[,slow=2x or slow=500ms][,signal=USR2][,at_exit=1][,dumps=10]";
bool ParseFlight(absl::string_view text, Flight* flight);
std::string PrintFlight(const Flight& flight);

absl::Status ValidateFlight(const Flight& flight);

// "SIGUSR2"
std::string SignalName(int signal);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_FLIGHT_OPTIONS_H_
