// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the SessionRun that is for flight recorders: the recorder between the drain and the exporters, its signal,
// and its crash file. With one of these what the ring has goes on being held in the file, dumped or not, so that what a
// kill leaves is what a dump would have had.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/record/recorder.h"
#include "runtime/session/flight_options.h"
#include "runtime/session/flight_signal.h"
#include "runtime/session/session_run.h"
#include "runtime/threads/stderr_line.h"

namespace ferret {
namespace {

// A dump waits for what was recorded before it, however far behind the drain is; it is written without that if the drain
// hangs, or has been given up.
constexpr std::chrono::seconds kLongestCatchUp{60};

}  // namespace

void SessionRun::MakeFlightRecorder(const SessionInfo& info, const std::vector<NamedExporter>& exporters,
                                    MakeExporters make_exporters) {
  FlightRecorder::Config config;
  config.flight = options_.flight;
  for (const NamedExporter& exporter : exporters) config.outputs.push_back(exporter.name);
  config.make_exporters = std::move(make_exporters);
  config.info = info;
  config.runner.on_thread_start = &OnThreadStart;
  config.runner.progress = [this] { return Progress(); };
  config.catch_up = [this] {
    FlightRecorder::CaughtUp caught_up;
    const auto open_scopes = drain_->FlushAndListOpen(std::chrono::steady_clock::now() + kLongestCatchUp);
    if (open_scopes != nullptr) caught_up = {open_scopes, std::exchange(open_scopes->sequence, 0)};
    return caught_up;
  };
  if (crash_ != nullptr) {
    config.on_settled = [this, outputs = exporters.size()](uint64_t batch) { crash_->SetSettled(outputs, batch); };
  }
  config.say = [log = options_.log](const std::string& line) {
    if (log >= Options::Log::kWarning) WriteStderrLine(line);
  };
  config.bell = FlightSignal::Bell();
  flight_ = std::make_unique<FlightRecorder>(std::move(config));
  const int signal = options_.flight.signal;
  if (signal != 0 && !FlightSignal::Install(signal) && options_.log >= Options::Log::kWarning) {
    WriteStderrLine(absl::StrCat("FERRET_FLIGHT: the program handles or ignores ", SignalName(signal),
                                 " itself: it does not ask for dumps"));
  }
}

void SessionRun::KeepLosses() {
  constexpr int64_t kIntervalNs = 100'000'000;
  if (crash_ == nullptr) return;
  const int64_t now_ns = MonotonicNs();
  if (now_ns - losses_kept_ns_ < kIntervalNs) return;
  losses_kept_ns_ = now_ns;
  crash_->file()->SetLosses(Losses());
}

absl::Status SessionRun::StopFlightRecorder(absl::Time deadline) {
  if (flight_ == nullptr) return absl::OkStatus();
  const absl::Status status = flight_->Stop(deadline);
  FlightSignal::Remove();
  // The thread goes on with what is the session's.
  if (flight_->abandoned()) abandoned_ = true;
  return status;
}

}  // namespace ferret
