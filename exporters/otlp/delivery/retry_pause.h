// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// RetryPause: how long a receiver that does not take requests is left alone.
//
// Exponential with full jitter, so that the ranks of a job do not come back all at once; a receiver's own wish is
// kept. The pause belongs to the receiver, not to a request: it grows until the receiver answers, and holds for whatever
// request comes next.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_RETRY_PAUSE_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_RETRY_PAUSE_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace ferret::otlp {

class RetryPause {
 public:
  static constexpr absl::Duration kFirst = absl::Seconds(1);
  static constexpr absl::Duration kLongest = absl::Seconds(5);
  static constexpr double kGrowth = 1.5;

  // `random` gives numbers in [0, 1).
  explicit RetryPause(std::function<double()> random) : random_(std::move(random)) {}

  // After a failed attempt.
  absl::Duration Next(std::optional<absl::Duration> wish) {
    failing_ = true;
    const absl::Duration own = bound_ * random_();
    bound_ = std::min(kLongest, bound_ * kGrowth);
    if (!wish.has_value()) return own;
    // A wish for no pause at all is no reason to try again without end.
    return *wish >= kFirst ? *wish : std::max(*wish, own);
  }
  // After any answer that is not a wish to be left alone.
  void Reset() {
    failing_ = false;
    bound_ = kFirst;
  }
  bool failing() const { return failing_; }

 private:
  const std::function<double()> random_;
  absl::Duration bound_ = kFirst;
  bool failing_ = false;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_RETRY_PAUSE_H_
