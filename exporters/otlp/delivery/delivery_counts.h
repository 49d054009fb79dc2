// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What became of the requests that Delivery was given. For each signal, in items and in requests alike:
//
//   pushed = delivered + rejected + spilled + waiting + Σ lost        (requests: pushed + split = …)
//
// exactly, whenever the counts are read. Items are spans or data points.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_COUNTS_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

// Why a request was lost.
enum class RequestLoss : uint8_t {
  kQueueFull,
  kRefused,
  kTooLarge,     // and could not be split any further
  kTimeout,      // the receiver did not take it in all the time that there was for it
  kUnsupported,  // the receiver does not know the signal
  kClosed,       // there was no time left for it at the end
  kSpillFull,
  kSpillFailed,  // the disk did not take it, or did not give it back
};
inline constexpr size_t kRequestLossCount = 8;

const char* RequestLossText(RequestLoss reason);  // "queue_full"

struct Amount {
  uint64_t items = 0;
  uint64_t requests = 0;

  Amount& operator+=(const Amount& other) {
    items += other.items;
    requests += other.requests;
    return *this;
  }
  Amount& operator-=(const Amount& other) {
    items -= other.items;
    requests -= other.requests;
    return *this;
  }
};

struct SignalCounts {
  Amount pushed;
  Amount delivered;
  Amount rejected;  // by a receiver that took the rest; a request is in here or in `delivered`, not in both
  Amount spilled;   // on disk now, to be replayed
  Amount waiting;   // in memory, also while it is being sent
  std::array<Amount, kRequestLossCount> lost;
  uint64_t split = 0;  // requests that came into being because one was cut in two

  Amount& operator[](RequestLoss reason) { return lost[static_cast<size_t>(reason)]; }
  const Amount& operator[](RequestLoss reason) const { return lost[static_cast<size_t>(reason)]; }
  Amount all_lost() const {
    Amount sum;
    for (const Amount& amount : lost) sum += amount;
    return sum;
  }
};

struct DeliveryCounts {
  std::array<SignalCounts, kSignalCount> signals;
  uint64_t attempts = 0;           // calls of Transport::Send that returned
  absl::Duration operation_time;   // in all of them together
  uint64_t in_flight = 0;          // requests in Transport::Send now: 0 or 1
  uint64_t in_flight_items = 0;    // of it
  Signal in_flight_signal = Signal::kTraces;
  uint64_t queue_bytes = 0;        // of all that waits
  uint64_t queue_capacity = 0;

  SignalCounts& operator[](Signal signal) { return signals[static_cast<size_t>(signal)]; }
  const SignalCounts& operator[](Signal signal) const { return signals[static_cast<size_t>(signal)]; }
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_COUNTS_H_
