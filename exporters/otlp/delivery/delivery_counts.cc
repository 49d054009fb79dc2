// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/delivery_counts.h"

namespace ferret::otlp {

const char* RequestLossText(RequestLoss reason) {
  switch (reason) {
    case RequestLoss::kQueueFull: return "queue_full";
    case RequestLoss::kRefused: return "refused";
    case RequestLoss::kTooLarge: return "too_large";
    case RequestLoss::kTimeout: return "timeout";
    case RequestLoss::kUnsupported: return "unsupported";
    case RequestLoss::kClosed: return "closed";
    case RequestLoss::kSpillFull: return "spill_full";
    case RequestLoss::kSpillFailed: return "spill_failed";
  }
  return "unknown";
}

}  // namespace ferret::otlp
