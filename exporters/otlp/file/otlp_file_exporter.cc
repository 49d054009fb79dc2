// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/file/otlp_file_exporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/export/file/output_path.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/file/target_path.h"
#include "runtime/export/file/text_prefix.h"

namespace ferret {
namespace {

// A line ends with the span that reaches this: a sixteenth of what the collector's file receiver takes of a line.
constexpr size_t kLineBytes = kPieceBytes;

}  // namespace

OtlpFileExporter::OtlpFileExporter(OtlpFileOptions options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Exporter>> OtlpFileExporter::Create(const ExporterSpec& spec) {
  absl::StatusOr<OtlpFileOptions> options = ParseOtlpFileOptions(spec);
  if (!options.ok()) return options.status();
  options->environment = otlp::ReadResourceEnvironment();
  return std::make_unique<OtlpFileExporter>(*std::move(options));
}

absl::Status OtlpFileExporter::Open(const SessionInfo& info) {
  const DiagnosticFn diagnostic = options_.diagnostic ? options_.diagnostic : WriteLineToStderr;
  for (const std::string& warning : options_.environment.warnings) diagnostic(warning);
  if (options_.environment.disabled) {
    return absl::FailedPreconditionError("OTEL_SDK_DISABLED=true: nothing is written");
  }
  info_ = info;
  run_id_ = options_.run_id.empty() ? RunId() : options_.run_id;
  target_ = options_.target;
  if (!absl::StartsWith(target_, "/")) {
    // The program may change its directory before the first event.
    directory_ = CurrentDirectory();
    target_ = absl::StrCat(absl::StrReplaceAll(directory_, {{"%", "%%"}}), target_);
  }
  ids_.emplace(otlp::KeyOf(info, run_id_));
  const otlp::Resource resource(info, run_id_, otlp::ExecutableName(info), options_.environment);
  encoder_.emplace(ids_->trace_id(), resource);
  if (options_.metrics) metrics_.emplace(resource, info.start_ns);
  spans_.emplace(*ids_, &*encoder_);
  latest_ns_ = info.start_ns;
  return CheckWritable(PathOf(1));
}

absl::Status OtlpFileExporter::Export(const EventBatch& batch) {
  // First, as each notice comes once: also those of a batch that is refused.
  spans_->Note(batch);
  if (file_ == nullptr) {
    if (batch.events.empty() && batch.instants.empty() && batch.memory.empty()) return absl::OkStatus();
    if (absl::Status begun = Begin(); !begun.ok()) return begun;
  } else if (file_->backlog_bytes() > 0) {
    absl::Status written = file_->Retry();
    ForgetWritten();
    if (absl::IsDataLoss(written)) {
      LosePart();
      written = Begin();
    }
    if (!written.ok()) return written;
  }
  for (const FunctionEvent& event : batch.events) {
    spans_->AddEvent(event);
    const bool is_extra = event.is_synthesized || event.device_type != DeviceType::kCpu;
    AfterSpan(1, is_extra ? 0 : 1, event.end_ns);
    if (metrics_) metrics_->Measure(event);
  }
  AddMoments(batch);
  return absl::OkStatus();
}

void OtlpFileExporter::AddMoments(const EventBatch& batch) {
  for (size_t from = 0; from < batch.instants.size(); from += otlp::kMostCarried) {
    const size_t count = std::min(otlp::kMostCarried, batch.instants.size() - from);
    const InstantEvent* const first = &batch.instants[from];
    spans_->AddInstants(first, count);
    const auto lost = std::count_if(first, first + count, [](const InstantEvent& instant) {
      return instant.kind == InstantEvent::Kind::kLoss;
    });
    AfterSpan(count, count - static_cast<uint64_t>(lost), first[count - 1].time_ns);
  }
  for (size_t from = 0; from < batch.memory.size(); from += otlp::kMostCarried) {
    const size_t count = std::min(otlp::kMostCarried, batch.memory.size() - from);
    spans_->AddMemory(&batch.memory[from], count);
    AfterSpan(count, count, batch.memory[from + count - 1].time_ns);
  }
}

// The first span of a file has a line of its own: whose file it is must be found near its beginning.
void OtlpFileExporter::AfterSpan(uint64_t events, uint64_t attempts, int64_t end_ns) {
  line_.events += events;
  line_.attempts += attempts;
  in_part_.events += events;
  in_part_.attempts += attempts;
  events_ += events;
  latest_ns_ = std::max(latest_ns_, end_ns);
  if (!line_is_first_ && encoder_->bytes() < kLineBytes) return;
  // A line that could not be written waits in file_; Flush and the next Export say so.
  WriteLine().IgnoreError();
  if (part_is_full_) BeginNextPartIfFull();
}

absl::Status OtlpFileExporter::WriteLine() {
  line_is_first_ = false;
  const std::string_view line = encoder_->Finish().bytes;
  if (line.empty()) {
    absl::Status status = file_->Retry();
    ForgetWritten();
    return status;
  }
  absl::Status status = file_->Append(line, "");
  encoder_->Clear();
  waiting_.push_back(std::exchange(line_, Counts()));
  ForgetWritten();
  part_is_full_ = options_.max_part_bytes > 0 && file_->text_bytes() >= options_.max_part_bytes && !file_->is_stream();
  return status;
}

void OtlpFileExporter::ForgetWritten() {
  while (waiting_.size() > file_->backlog_pieces()) waiting_.pop_front();
}

void OtlpFileExporter::BeginNextPartIfFull() {
  part_is_full_ = false;  // if no new part can be begun, this one grows by a line until the next attempt
  if (file_->backlog_bytes() == 0) BeginPart(part_ + 1).IgnoreError();
}

// Parts are begun at sizes, not where something is durable.
std::optional<DurableOutput> OtlpFileExporter::Durable() const {
  const bool can_go_on = file_ != nullptr && !file_->is_stream() && options_.max_part_bytes == 0;
  if (!can_go_on || file_->backlog_bytes() > 0) return std::nullopt;
  return DurableOutput{file_->temporary_path(), file_->path(), file_->text_bytes(), events_};
}

absl::Status OtlpFileExporter::Begin() {
  absl::Status begun = BeginPart(std::max(1, part_));
  if (!begun.ok()) return begun;
  BeginMetrics();
  if (part_ > 1) return absl::OkStatus();
  if (info_.continued.text_bytes == 0) {
    spans_->AddRun(info_);
    AfterSpan(0, 0, info_.start_ns);
    return absl::OkStatus();
  }
  line_is_first_ = false;
  events_ = info_.continued.events;
  // No carrier of the earlier process has a number that large.
  spans_->NumberCarriersFrom(events_);
  return ReadTextPrefix(info_.continued.path, info_.continued.text_bytes, [this](std::string_view piece) {
    absl::Status written = file_->Append(piece, "");
    waiting_.push_back({});
    ForgetWritten();
    return written;
  });
}

std::string OtlpFileExporter::PathOf(int part) const {
  if (!info_.continued.path.empty()) return info_.continued.final_path;
  PathContext context;
  context.pid = info_.pid;
  context.rank = info_.rank;
  context.host = info_.host_name;
  context.start_ns = info_.start_ns;
  context.part = part;
  const std::string as_asked = ExpandPath(target_, context);
  if (IsStreamTarget(as_asked)) return as_asked;  // ranks may share /dev/null
  context.has_rank = info_.has_rank;
  context.in_forked_child = info_.in_forked_child;
  context.split = options_.max_part_bytes > 0;
  context.label = info_.label;
  return ExpandPath(target_, context);
}

DocumentFileOptions OtlpFileExporter::FileOptions(const std::string& path) const {
  DocumentFileOptions options;
  options.path = path;
  options.gzip = absl::EndsWith(options.path, ".gz");
  options.gzip_level = options_.gzip_level;
  options.has_tail = false;
  options.run_id = run_id_;
  options.diagnostic = options_.diagnostic ? options_.diagnostic : WriteLineToStderr;
  options.io = options_.io;
  return options;
}

// Without their file the spans go on.
void OtlpFileExporter::BeginMetrics() {
  if (!metrics_ || metrics_->file() != nullptr) return;
  absl::Status opened = metrics_->Open(FileOptions(otlp::MetricsPath(PathOf(1))));
  if (!opened.ok()) {
    metrics_.reset();
    deferred_error_ = opened;
    return;
  }
  const DocumentFile& file = *metrics_->file();
  if (info_.file_opened && !file.is_stream()) info_.file_opened(file.temporary_path(), file.path());
}

absl::Status OtlpFileExporter::BeginPart(int part) {
  absl::StatusOr<std::unique_ptr<DocumentFile>> opened = DocumentFile::Open(FileOptions(PathOf(part)));
  if (!opened.ok()) return opened.status();

  if (file_ != nullptr) {
    absl::Status finished = FinishFile(/*with_record=*/false);
    if (!finished.ok()) deferred_error_ = finished;
  }
  file_ = *std::move(opened);
  part_ = part;
  in_part_ = {};
  line_is_first_ = true;
  destination_ = ShownPath(file_->path(), directory_);
  if (info_.file_opened && !file_->is_stream()) info_.file_opened(file_->temporary_path(), file_->path());
  return absl::OkStatus();
}

// Once more with what waits for space; then without it, counted; then also without the last line: the file is put in
// place as it is.
absl::Status OtlpFileExporter::FinishFile(bool with_record) {
  absl::Status status = file_->Finish(with_record ? RecordLine() : "");
  ForgetWritten();
  if (status.ok()) return status;
  if (absl::IsDataLoss(status)) {
    LosePart();
    return status;
  }
  for (const Counts& line : waiting_) {
    events_ -= line.events;
    progress_.lost[LossReason::kExporterFailed] += line.attempts;
    not_delivered_ += line.attempts;
  }
  waiting_.clear();
  file_->FinishWithoutBacklog(with_record ? RecordLine() : "").IgnoreError();
  return status;
}

// The file with what was in it is gone: all of it is lost, also what waits.
void OtlpFileExporter::LosePart() {
  file_->Discard();
  file_.reset();
  not_delivered_ += in_part_.attempts;
  progress_.lost[LossReason::kExporterFailed] += in_part_.attempts;
  events_ -= in_part_.events;
  in_part_ = line_ = Counts();
  waiting_.clear();
  encoder_->Clear();
}

void OtlpFileExporter::SetProgress(const ExportProgress& progress) {
  progress_ = progress;
  progress_.lost[LossReason::kExporterFailed] += not_delivered_;
}

std::string OtlpFileExporter::RecordLine() {
  spans_->AddRecord(progress_, events_, latest_ns_, [](otlp::JsonAttributes*) {});
  std::string line(encoder_->Finish().bytes);
  encoder_->Clear();
  return line;
}

absl::Status OtlpFileExporter::Flush(const ExportProgress& progress, absl::Time) {
  SetProgress(progress);
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status written = WriteLine();
  if (metrics_) written.Update(metrics_->WriteIfDue(latest_ns_));
  if (!written.ok()) return written;
  return std::exchange(deferred_error_, absl::OkStatus());
}

absl::Status OtlpFileExporter::Close(const ExportProgress& progress, absl::Time) {
  SetProgress(progress);
  if (file_ == nullptr && info_.continued.text_bytes > 0) {
    if (absl::Status begun = Begin(); !begun.ok()) return begun;
  }
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = WriteLine();
  const absl::Status finished = FinishFile(/*with_record=*/true);
  if (status.ok()) status = finished;
  if (file_ != nullptr) destination_ = ShownPath(file_->path(), directory_);
  if (metrics_) status.Update(metrics_->Finish(latest_ns_));
  file_.reset();
  if (status.ok()) status = deferred_error_;
  return status;
}

}  // namespace ferret
