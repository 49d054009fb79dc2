// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SessionRun: one session from start to stop: recorder, drain and exporters put together.
//
//     recorder ──chunks──► drain thread ──batches──► runner per exporter, or a flight recorder
//
// Used by one thread at a time, under the lock of process_session.cc; only Flush is called without it, also beside Stop.
// Created by Start, ended by Stop; kept for ever when Stop had to abandon a thread that still uses it.

#ifndef FERRET_RUNTIME_SESSION_SESSION_RUN_H_
#define FERRET_RUNTIME_SESSION_SESSION_RUN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ferret/device_loss.h"
#include "ferret/loss.h"
#include "runtime/device/cuda/cuda_session.h"
#include "runtime/drain/drain_thread.h"
#include "runtime/export/batch_pool.h"
#include "runtime/export/exporter_runner.h"
#include "runtime/export/flight_recorder.h"
#include "runtime/record/recorder.h"
#include "runtime/session/crash_mode.h"
#include "runtime/session/options.h"

namespace ferret {

class SessionRun final : public internal::BatchSink {
 public:
  // Makes the session's exporters anew.
  using MakeExporters = std::function<absl::StatusOr<std::vector<NamedExporter>>()>;

  // Recording is on when it returns. With options.flight the exporters are not used, only others like them, each time
  // something asks for a dump.
  static absl::StatusOr<std::unique_ptr<SessionRun>> Start(const Options& options, std::vector<NamedExporter> exporters,
                                                           MakeExporters make_exporters = nullptr);
  ~SessionRun() override = default;

  // In a forked child: the recorder of the parent's session is left where it is.
  static void ForgetParentInChild();

  // Of a flight recorder: waits for the dumps that were asked for.
  absl::Status Flush(absl::Time deadline);
  // Asks a flight recorder for a dump. FailedPrecondition if the session has none. Any thread.
  absl::Status Dump();
  // Recording is off when it returns, whatever the result. After DeadlineExceeded with abandoned() the object must be
  // kept for ever.
  absl::Status Stop(absl::Time deadline);
  bool abandoned() const { return abandoned_; }
  // Whether a thread of the drain's, the flight recorder's or the device's goes on after Stop.
  bool has_left_threads() const { return abandoned_ || cuda_hangs_; }

  // The session's losses by logical thread id, 0 for what no thread can be blamed for. Exact after Stop.
  std::map<uint32_t, LossCounts> LossesByThread() const;
  LossCounts Losses() const;
  // Exact after Stop.
  DeviceCounts DeviceLosses() const;
  ExportProgress Progress() const;

  struct Output {
    std::string name;
    std::vector<std::string> destinations;  // one, or that of each dump
    ExporterCounts counts;
    absl::Status status;
  };
  // Of each exporter, in the order of Start. Of a flight recorder each counts what is in any of its dumps.
  std::vector<Output> Outputs() const;

  // BatchSink, for the drain thread.
  std::shared_ptr<EventBatch> NewBatch() override { return pool_.Acquire(); }
  void Push(std::shared_ptr<EventBatch> batch) override;
  void PassEnded() override;
  uint64_t KeepForDump() override;
  void WantSettled() override;

 private:
  explicit SessionRun(const Options& options);
  // On every thread of the session's.
  static void OnThreadStart();
  absl::Status StopRunners(absl::Time deadline);
  void MakeFlightRecorder(const SessionInfo& info, const std::vector<NamedExporter>& exporters,
                          MakeExporters make_exporters);
  absl::Status StopFlightRecorder(absl::Time deadline);
  // In the crash file, if there is one. On the drain thread.
  void KeepLosses();
  void StartCuda(int64_t wall_offset_ns);
  // Gives the device thread until then to find out what devices have done.
  void StopCuda(absl::Time deadline);

  const Options options_;
  internal::Recorder* recorder_ = nullptr;
  // Null without a crash file. Kept with the run when that is abandoned.
  std::unique_ptr<CrashMode> crash_;
  BatchPool pool_;
  std::vector<std::unique_ptr<ExporterRunner>> runners_;
  // Instead of them, if it is not null.
  std::unique_ptr<FlightRecorder> flight_;
  std::unique_ptr<internal::DrainThread> drain_;
  // Null if it is off.
  internal::CudaSession* cuda_ = nullptr;
  // Owns it; not any more if it hangs in the driver: it is leaked then.
  std::unique_ptr<internal::CudaSession> owned_cuda_;
  bool cuda_hangs_ = false;
  uint64_t device_session_ = 0;  // its number
  // Whether the drain has got everything that there will be of devices. Set by Stop, read by exporters.
  std::atomic<bool> device_over_{false};
  std::map<uint32_t, LossCounts> losses_before_;  // of the process, when the session started
  uint64_t names_refused_before_ = 0;
  uint64_t details_lost_before_ = 0;
  uint64_t ends_refused_before_ = 0;
  uint64_t batches_ = 0;  // drain thread only, as the next two
  uint64_t unannounced_ = 0;  // of them, that the runners' threads may not have been woken for
  int64_t losses_kept_ns_ = 0;
  bool abandoned_ = false;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_SESSION_RUN_H_
