// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// OtlpFileExporter: a whole run as OpenTelemetry spans in a file, in the OTLP file format.
//
//   FERRET_EXPORT=otlp_file:run-%r.jsonl?size=300MB
//
// Each line is one TracesData in OTLP/JSON and stands for itself: it can be posted to any receiver as it is, and the
// collector's otlpjsonfile receiver reads it. Lines are far below what such readers take (1 MiB). The file grows by whole
// lines under <target>.tmp and gets its name when it is finished; a kill may leave the last line cut short.
//
// A batch is in the file or in memory when Export returns OK. While something waits in memory because the disk takes
// nothing, further batches are refused, so that memory stays bounded and the loss is counted. If somebody else removes the
// file or cuts it short, what was in it is counted as lost, and the next batch begins it anew.

#ifndef FERRET_EXPORTERS_OTLP_FILE_OTLP_FILE_EXPORTER_H_
#define FERRET_EXPORTERS_OTLP_FILE_OTLP_FILE_EXPORTER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/otlp/file/file_metrics.h"
#include "exporters/otlp/spans/batch_spans.h"
#include "exporters/otlp/spans/json_encoder.h"
#include "exporters/otlp/resource/resource.h"
#include "runtime/export/export_spec.h"
#include "runtime/export/exporter.h"
#include "runtime/export/file/document_file.h"

namespace ferret {

struct OtlpFileOptions {
  // Patterns as in output_path.h. Gzipped if it ends in ".gz".
  std::string target = "traces.jsonl";
  int gzip_level = GzipEncoder::kDefaultLevel;
  // A new file is begun when one has this many bytes of text; 0 for never.
  uint64_t max_part_bytes = 0;
  bool metrics = false;  // in a second file
  otlp::ResourceEnvironment environment;
  // Empty: RunId().
  std::string run_id;
  // Empty: a line on stderr.
  DiagnosticFn diagnostic;
  FileIo* io = nullptr;  // the system's
};

// Target and parameters (level, size) of FERRET_EXPORT. Errors name the value and what is allowed.
absl::StatusOr<OtlpFileOptions> ParseOtlpFileOptions(const ExporterSpec& spec);

class OtlpFileExporter final : public Exporter {
 public:
  explicit OtlpFileExporter(OtlpFileOptions options);

  // An ExporterFactory. Reads the OTEL_* variables.
  static absl::StatusOr<std::unique_ptr<Exporter>> Create(const ExporterSpec& spec);

  // Makes no file yet: a process that records nothing leaves none. FailedPrecondition if OTEL_SDK_DISABLED says so.
  absl::Status Open(const SessionInfo& info) override;
  absl::Status Export(const EventBatch& batch) override;
  absl::Status Flush(const ExportProgress& progress, absl::Time deadline) override;
  absl::Status Close(const ExportProgress& progress, absl::Time deadline) override;
  std::string Destination() const override { return destination_; }
  std::optional<DurableOutput> Durable() const override;
  uint64_t NotDelivered() const override { return not_delivered_; }

 private:
  // The first part, or the one that was lost. The first has a head of its own, or what a killed process has written of it.
  absl::Status Begin();
  std::string PathOf(int part) const;
  absl::Status BeginPart(int part);
  DocumentFileOptions FileOptions(const std::string& path) const;
  void BeginMetrics();
  void AddMoments(const EventBatch& batch);
  void AfterSpan(uint64_t events, uint64_t attempts, int64_t end_ns);
  absl::Status WriteLine();
  void BeginNextPartIfFull();
  absl::Status FinishFile(bool with_record);
  void LosePart();
  void SetProgress(const ExportProgress& progress);
  std::string RecordLine();
  void ForgetWritten();

  const OtlpFileOptions options_;
  SessionInfo info_;
  std::string run_id_;
  std::string target_;  // options_.target with a directory
  std::string directory_;
  std::string destination_;

  std::optional<otlp::SpanIds> ids_;
  std::optional<otlp::JsonEncoder> encoder_;
  std::optional<otlp::BatchSpans<otlp::JsonEncoder>> spans_;
  std::unique_ptr<DocumentFile> file_;
  std::optional<otlp::FileMetrics> metrics_;
  int part_ = 0;
  bool line_is_first_ = false;  // of its file
  bool part_is_full_ = false;
  int64_t latest_ns_ = 0;
  ExportProgress progress_;

  struct Counts {
    uint64_t events = 0;    // function events, instants and memory events
    uint64_t attempts = 0;  // as EventBatch::count() counts
  };
  Counts line_;                 // in the encoder
  Counts in_part_;              // of this file, whether written, waiting or in the encoder
  std::deque<Counts> waiting_;  // what the file took over but has not written yet: kept in step with its backlog
  uint64_t events_ = 0;         // of the session, without what was given up
  uint64_t not_delivered_ = 0;
  absl::Status deferred_error_;  // of a part that could not be put in place
};

}  // namespace ferret

#endif  // FERRET_EXPORTERS_OTLP_FILE_OTLP_FILE_EXPORTER_H_
