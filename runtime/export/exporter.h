// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exporter: a consumer of event batches.
//
// Every exporter has a thread of its own (see exporter_runner.h) that makes all calls, one at a time, in the order
// Open, then any number of Export and Flush, then Close once; Close is not called when Open failed. A call may block:
// only this exporter's own batches are then dropped, counted, and neither the drain nor a recording thread waits.
// An error from Open disables the exporter for the session. An error from Export counts the batch as lost
// (kExporterFailed); the runner reports the first one and goes on. An exception disables the exporter.

#ifndef FERRET_RUNTIME_EXPORT_EXPORTER_H_
#define FERRET_RUNTIME_EXPORT_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ferret/device_loss.h"
#include "ferret/event_batch.h"
#include "ferret/loss.h"

namespace ferret {

// An output that another process can go on with, as far as it is durable.
struct DurableOutput {
  std::string path;        // absolute; a regular file
  std::string final_path;  // what it is to be called when it is complete
  uint64_t text_bytes = 0;  // of its text, not compressed: everything that was exported, and nothing that follows it
  uint64_t events = 0;      // in it
};

// What does not change during a session.
struct SessionInfo {
  int64_t start_ns = 0;  // Unix ns
  int32_t pid = 0;
  bool in_forked_child = false;  // has its parent's environment, command name and rank
  std::string process_name;  // the command name, as in /proc/self/comm
  std::string host_name;
  bool has_rank = false;  // whether a launcher's environment named the rank
  int rank = 0;           // 0 when nothing says otherwise
  int world_size = 1;
  int local_rank = -1;     // on this machine; -1 if nothing says so
  int restart_count = -1;  // how often the launcher has started the job again; -1 if nothing says so
  std::string backend;  // of distributedInfo; empty if unknown
  std::string job_id;   // empty if unknown
  // The session's options as (name, value), for display in the output.
  std::vector<std::pair<std::string, std::string>> options;
  // An exporter calls it, if it is set, when it has opened a file that gets its final name only at the end, so that
  // the file can be found after a kill: with the name that it has now and the one it is to get. Any thread.
  std::function<void(const std::string& temporary_path, const std::string& final_path)> file_opened;
  // An exporter calls it, if it is set, in Open, after it has loaded libraries or made them ready: their exit handlers, and
  // destructors of their statics, then run after the session has ended, and with it this exporter.
  std::function<void()> before_exit_handlers_so_far;
  // Called first on every thread that the exporter starts, if it is set: keeps the thread from being recorded, and from being
  // taken for one of the program's.
  void (*on_thread_start)() = nullptr;
  // Of a process that was killed: the new output begins with what this one has, and is exported to as if it had not been
  // interrupted. Only for exporters that have a DurableOutput. No path: there is none.
  DurableOutput continued;
  // Tells the outputs of one session apart, if there are several: "dump1" of a flight recorder, "recovered". Files are
  // named by it (see runtime/export/file/output_path.h). Empty: there is only one.
  std::string label;
};

// Cumulative state of the session as this exporter sees it, at the moment of the call.
struct ExportProgress {
  uint64_t events_built = 0;  // function events and instants that the drain finished
  uint64_t events_discarded = 0;  // of them, by a flight recorder: too old to be in this output
  LossCounts lost;            // recording losses and this exporter's own
  uint64_t links_made = 0;
  uint64_t links_evicted = 0;  // forward ops forgotten because the link table was full
  uint64_t links_unmatched = 0;  // backward ops whose forward op was not found
  uint64_t links_hurried = 0;    // backward ops linked before all that might concern them was read: too many waited
  uint64_t ends_refused = 0;     // ends for which there was no room: their scopes end with the next one around them
  uint64_t details_lost = 0;     // details of scopes (inputs, stacks) that were too long, or found no room
  uint64_t remote_ends_unmatched = 0;  // ends of asynchronous scopes that nobody began, or that had ended
  uint64_t names_inline = 0;   // names that did not fit into the name table
  uint64_t clock_backward = 0;  // readings that went back in time and were clamped
  uint64_t clock_steps = 0;      // jumps between the stamping clock and the time that is shown
  DeviceCounts device;           // of scopes whose time on a device was asked for
};

class Exporter {
 public:
  virtual ~Exporter() = default;

  virtual absl::Status Open(const SessionInfo& info) = 0;
  virtual absl::Status Export(const EventBatch& batch) = 0;
  // Make everything exported so far durable: somebody waits for it.
  virtual absl::Status Flush(const ExportProgress& progress, absl::Time deadline) = 0;
  // The same, at least once a second while events come, and nobody waits. An exporter whose output may be long on its way
  // only sends it off here: batches wait for as long as this takes.
  virtual absl::Status FlushInBackground(const ExportProgress& progress, absl::Time deadline) {
    return Flush(progress, deadline);
  }
  // Whether, after a Flush of either kind, FlushInBackground is to be called in a second also if no batch comes.
  virtual bool NeedsFlush() const { return false; }
  virtual absl::Status Close(const ExportProgress& progress, absl::Time deadline) = 0;

  // How many of the events that Export accepted never came to be in the output, after all. Asked once, after Close.
  virtual uint64_t NotDelivered() const { return 0; }

  // After a Flush of either kind: the `sequence` of a batch, of which, as of all before it, nothing is on its way any more: it
  // is durable, or counted as lost.
  virtual uint64_t SettledBatch() const { return UINT64_MAX; }

  // What of the output is durable, after a Flush that succeeded. Without one, whoever goes on after a kill cannot tell what
  // was exported in the moment before it, and exports that again.
  virtual std::optional<DurableOutput> Durable() const { return std::nullopt; }

  // Where the output went, for the one line at the end of a run, for example "trace.json.gz"; empty if nowhere.
  virtual std::string Destination() const { return ""; }
};

// An exporter with the name it is reported under.
struct NamedExporter {
  std::string name;
  std::unique_ptr<Exporter> exporter;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_EXPORTER_H_
