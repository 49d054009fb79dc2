// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ChromeTraceExporter: a whole run as a Chrome trace, in the form that Kineto (torch.profiler) writes.
//
//   FERRET_EXPORT=chrome_trace:trace-%r.json.gz?level=6&split=300MB
//
// Perfetto UI, chrome://tracing, HTA and TensorBoard's profiler plug-in read it. What differs from Kineto's files: the
// trace grows while the program runs and is complete at any moment; names are escaped, not replaced; asynchronous
// events have tracks of their own, so that slices always nest; one event a line; devices' properties come last.
//
// A batch is in the file or in memory when Export returns OK. While something waits in memory because the disk takes
// nothing, further batches are refused, so that memory stays bounded and the loss is counted. If somebody else removes the
// file or cuts it short, what was in it is counted as lost, and the next batch begins the document anew.

#ifndef FERRET_EXPORTERS_CHROME_TRACE_CHROME_TRACE_EXPORTER_H_
#define FERRET_EXPORTERS_CHROME_TRACE_CHROME_TRACE_EXPORTER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/chrome_trace/async_lanes.h"
#include "exporters/chrome_trace/device_rows.h"
#include "exporters/chrome_trace/event_writer.h"
#include "exporters/chrome_trace/trace_frame.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"
#include "runtime/export/file/document_file.h"
#include "runtime/export/file/unit_buffer.h"

namespace ferret {

struct ChromeTraceOptions {
  // Patterns as in output_path.h. Gzipped if it ends in ".gz".
  std::string target = "trace.json";
  int gzip_level = GzipEncoder::kDefaultLevel;
  // A new file is begun when one has this many bytes of text; 0 for never.
  uint64_t max_part_bytes = 0;
  // Empty: RunId().
  std::string run_id;
  // Empty: a line on stderr.
  DiagnosticFn diagnostic;
  FileIo* io = nullptr;  // the system's
};

// Target and parameters (level, split) of FERRET_EXPORT. Errors name the value and what is allowed.
absl::StatusOr<ChromeTraceOptions> ParseChromeTraceOptions(const ExporterSpec& spec);

class ChromeTraceExporter final : public Exporter {
 public:
  explicit ChromeTraceExporter(ChromeTraceOptions options);

  // An ExporterFactory.
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(const ExporterSpec& spec);

  // Makes no file yet: a process that records nothing leaves none.
  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;
  std::string Destination() const override { return destination_; }
  uint64_t NotDelivered() const override { return not_delivered_; }
  std::optional<DurableOutput> Durable() const override;

 private:
  struct Thread {
    std::string name;
    chrome_trace::AsyncLanes lanes;
  };

  std::string PathOf(int part) const;
  // The beginning of the first part: a head of its own, or what a killed process has written of it.
  absl::Status WriteHead();
  absl::Status WriteContinued();
  absl::Status BeginPart(int part);
  void EndPartIfFull();
  absl::Status WritePiece();
  absl::Status FinishFile();
  void LosePart();
  void SetProgress(const ExportProgress& progress);
  void ForgetWritten();
  std::string Tail();

  void NoteGap(const EventBatch& batch);
  void WriteEvents(const EventBatch& batch);
  void WriteAsync(const FunctionEvent& event);
  void NoteThreads(const EventBatch& batch);
  void WriteNotedThreads();
  void WriteThread(int32_t os_tid);
  void WriteLane(int32_t os_tid, int lane);
  std::string ThreadLabel(int32_t os_tid);
  void ForgetIdleThreads();

  const ChromeTraceOptions options_;
  SessionInfo info_;
  std::string run_id_;
  std::string target_;  // options_.target with a directory
  std::string directory_;
  std::string destination_;

  UnitBuffer buffer_;
  std::optional<chrome_trace::EventWriter> writer_;
  std::optional<chrome_trace::DeviceRows> device_rows_;
  std::unique_ptr<DocumentFile> file_;
  chrome_trace::TraceState state_;
  size_t longest_tail_ = 0;
  uint64_t last_sequence_ = 0;
  int64_t arrows_from_ns_ = INT64_MIN;  // forward ops that started earlier may have no slice in this file
  bool part_is_full_ = false;

  // What the file took over but has not written yet, oldest first: kept in step with its backlog.
  struct Waiting {
    uint64_t events;
    uint64_t attempts;  // as EventBatch::count() counts
  };
  std::deque<Waiting> waiting_;
  Waiting handed_over_{};  // all that is in earlier pieces of this part
  uint64_t attempts_ = 0;  // of this part
  uint64_t not_delivered_ = 0;
  absl::Status deferred_error_;  // of a part that could not be put in place

  absl::flat_hash_map<int32_t, Thread> threads_;  // by OS thread id
  std::vector<int32_t> unwritten_threads_;
};

}  // namespace ferret

#endif  // FERRET_EXPORTERS_CHROME_TRACE_CHROME_TRACE_EXPORTER_H_
