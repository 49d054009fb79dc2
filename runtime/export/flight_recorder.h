// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FlightRecorder: the exporters' side of a session that exports nothing until something asks for it.
//
//     drain ──batches──► ring ──a dump──► exporters, made anew for each dump, opened, given what the ring has, closed
//                                ▲
//     Dump, a signal, a slow step, the end of the session
//
// Dumps are made one after another by a thread of the recorder's own, with a runner for each exporter. Nobody waits for
// them but callers of WaitForDumps and Stop. What asks while a dump is being written gets one more dump, all together.
// Exporters that hang are abandoned after a while, as at the end of a session.
//
// Who calls what: Push and WantSettled, the drain thread; Dump, WaitForDumps and what answers with a value, any thread;
// the bell, also signal handlers; Stop, one thread.

#ifndef FERRET_RUNTIME_EXPORT_FLIGHT_RECORDER_H_
#define FERRET_RUNTIME_EXPORT_FLIGHT_RECORDER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ferret/flight.h"
#include "runtime/export/exporter_runner.h"
#include "runtime/export/flight_bell.h"
#include "runtime/export/flight_ring.h"
#include "runtime/export/recent_durations.h"

namespace ferret {

class FlightRecorder {
 public:
  struct CaughtUp {
    std::shared_ptr<const EventBatch> open_scopes;  // null if they are not known
    // They are open as of the batch with this sequence: in later ones they may have ended.
    uint64_t last_batch = UINT64_MAX;
  };

  struct Config {
    Flight flight;
    std::vector<std::string> outputs;  // names of the exporters
    // Makes the same exporters, in the same order. On the recorder's thread.
    std::function<absl::StatusOr<std::vector<NamedExporter>>()> make_exporters;
    SessionInfo info;
    // For every exporter of every dump; name, queue size and the like are the recorder's.
    RunnerOptions runner;
    // Has everything that is recorded by now pushed, and gives the scopes that are open. Waits a second or so at most. On
    // the recorder's thread, never after Stop has returned.
    std::function<CaughtUp()> catch_up;
    // On the drain thread: see FlightRing::settled.
    std::function<void(uint64_t batch)> on_settled;
    // One line for a person. Any thread; also after Stop.
    std::function<void(const std::string& line)> say;
    absl::Duration dump_timeout = absl::Minutes(5);
    // Null: its own. Lives as long as the process.
    FlightBell* bell = nullptr;
  };

  explicit FlightRecorder(Config config);
  // Stop must have been called, and have succeeded, if Start has.
  ~FlightRecorder() = default;
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  // False when the system gives no thread.
  bool Start();

  // On the drain thread.
  void Push(std::shared_ptr<EventBatch> batch);
  void KeepForDump() { ring_.Keep(); }
  void WantSettled();

  // Asks for a dump and returns. `why` completes "dump 3, ...". ResourceExhausted when there have been as many as allowed.
  absl::Status Dump(const std::string& why);
  // Until every dump is written that was asked for before the call. The latest dump's error, also if it ended before the
  // call, or DeadlineExceeded.
  absl::Status WaitForDumps(absl::Time deadline);

  // Everything was pushed. Makes the dumps that were asked for, and one more if that was asked for in the configuration,
  // and ends the thread. What is not written by the deadline is given up, counted. The error of the last of these dumps, or
  // DeadlineExceeded with abandoned().
  absl::Status Stop(absl::Time deadline);
  // The thread did not end: it goes on by itself, and this object must be kept for ever.
  bool abandoned() const { return abandoned_; }

  FlightRing::Counts counts() const { return ring_.counts(); }
  size_t bytes() const { return ring_.bytes(); }

  struct Output {
    std::string name;
    std::vector<std::string> destinations;  // of the dumps, in order
    // pushed = exported + failed + discarded + waiting, each event once: what is in several dumps counts as what became
    // of it in the first one.
    ExporterCounts counts;
    absl::Status status;  // the first error
  };
  // In the order of the configuration.
  std::vector<Output> outputs() const;
  uint64_t dumps() const;  // written or given up

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Made;

  void Run();
  // Under the lock, but for the line that says so.
  absl::Status DumpUnlessTooMany(Lock& lock, const std::string& why);
  void Ask(Lock& lock, const std::string& why);
  void TakeSignals(Lock& lock);
  void MakeDump(Lock& lock);
  Made Open(const std::string& label, const std::string& why, const FlightRing::Contents& contents);
  void LookForSlowSteps(const EventBatch& batch);
  void Say(const std::string& line) const {
    if (config_.say) config_.say(line);
  }

  const Config config_;
  FlightBell own_bell_;
  FlightBell& bell_;
  FlightRing ring_;
  std::thread thread_;
  bool abandoned_ = false;

  // Drain thread only.
  RecentDurations steps_;
  uint64_t settled_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  uint64_t asked_ = 0;     // triggers that were accepted
  uint64_t answered_ = 0;  // of them, by dumps that are finished
  uint64_t pending_ = 0;   // of them, that no dump was begun for
  std::string why_;        // the first of those
  uint64_t dumps_begun_ = 0;
  uint64_t dumps_ended_ = 0;
  bool told_of_limit_ = false;
  std::string to_say_;  // by the recorder's own thread
  bool stopping_ = false;
  bool finished_ = false;
  absl::Time stop_at_;
  absl::Status last_status_;
  std::vector<ExporterRunner*> running_;
  std::vector<Output> outputs_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FLIGHT_RECORDER_H_
