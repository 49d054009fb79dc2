// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a Delivery is told when it is made.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_OPTIONS_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_OPTIONS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "exporters/otlp/transport.h"
#include "runtime/export/file/file_claim.h"
#include "runtime/export/file/file_io.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

struct DeliveryOptions {
  // Bound on the bodies that wait in memory, the one that is being sent among them.
  uint64_t queue_bytes = uint64_t{64} << 20;
  // By Signal: of one request with all its retries, from its first attempt on.
  std::array<absl::Duration, kSignalCount> timeouts = {absl::Seconds(10), absl::Seconds(10)};

  // Of a request that a receiver finds too large, what is not larger than this is not cut any further.
  uint64_t least_cut_bytes = uint64_t{64} << 10;

  std::string spill_directory;  // empty: nothing is kept on disk
  uint64_t spill_bytes = uint64_t{1} << 30;
  FileIo* io = nullptr;  // null is the system's; must live as long as the process

  RunnerClock* clock = nullptr;   // null is the real one; must live as long as the process
  DiagnosticFn diagnostic;        // empty is a line on standard error; any thread, also for a while after Close
  std::function<double()> random; // in [0, 1), on Delivery's thread; empty is one with a seed of its own
  void (*on_thread_start)() = nullptr;  // called first on Delivery's thread
  // May throw std::system_error. Empty is std::thread itself.
  std::function<std::thread(std::function<void()>)> start_thread;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_OPTIONS_H_
