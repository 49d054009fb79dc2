// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Transport: takes one request to a receiver, once, and says what became of it. When to try again, and what to do with
// what could not be sent, is Delivery's: a transport knows nothing of queues and keeps nothing.

#ifndef FERRET_EXPORTERS_OTLP_TRANSPORT_H_
#define FERRET_EXPORTERS_OTLP_TRANSPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

enum class Signal : uint8_t { kTraces, kMetrics };
inline constexpr size_t kSignalCount = 2;

// The encoding of a request's body.
enum class Form : uint8_t { kProtobuf, kJson };

// Of a receiver's wish to be left alone: what is longer is a mistake, which must not end the delivery.
inline constexpr absl::Duration kLongestRetryAfter = absl::Hours(1);

struct SendOutcome {
  enum class Kind : uint8_t {
    kDelivered,    // taken, less `rejected`
    kRetryable,    // not taken, and the receiver may take it another time
    kRefused,      // not taken, and never will be
    kTooLarge,     // not taken because of its size: parts of it may be
    kUnsupported,  // the receiver does not know this signal at all (404 for metrics)
  };
  Kind kind = Kind::kDelivered;
  uint64_t rejected = 0;  // spans or data points of a delivered request that the receiver did not take
  std::optional<absl::Duration> retry_after;  // of kRetryable: the receiver's wish, no longer than the above
  // For people, one line: what went wrong ("HTTP 503: overloaded", "connection refused"), or a receiver's warning.
  std::string message;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends an Export…ServiceRequest in form(), not compressed yet. Returns by `deadline`, or soon after Cancel. Never more
  // than one call at a time, all of them from the same thread. Never throws.
  virtual SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) = 0;

  // From any thread, once: a Send that runs returns soon, and one that is yet to come at once, with kRetryable.
  virtual void Cancel() = 0;

  virtual Form form() const = 0;
  // Where the first signal that is sent goes, for people: "http://localhost:4318/v1/traces".
  virtual std::string Destination() const = 0;
  // Where this one goes, if that is another place. Empty if it is not sent.
  virtual std::string DestinationOf(Signal) const { return Destination(); }
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_TRANSPORT_H_
