// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/table_exporter.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exporters/table/report.h"
#include "runtime/export/file/document_file.h"
#include "runtime/export/file/file_io.h"
#include "runtime/export/file/output_path.h"
#include "runtime/export/file/run_id.h"

namespace ferret {
namespace {

using table::ReportOutput;

void WriteLineToStderr(const std::string& text) {
  const std::string line = absl::StrCat("ferret: ", text, "\n");
  size_t written;
  WriteAll(SystemFileIo(), STDERR_FILENO, line, &written).IgnoreError();
}

// The program may change its directory before the first report.
std::string WithDirectory(const std::string& target) {
  if (absl::StartsWith(target, "/")) return target;
  std::string directory(4096, '\0');
  if (getcwd(directory.data(), directory.size()) == nullptr) return target;
  directory.resize(directory.find('\0'));
  return absl::StrCat(absl::StrReplaceAll(directory, {{"%", "%%"}}), directory == "/" ? "" : "/", target);
}

}  // namespace

TableExporter::TableExporter(TableExporterOptions options, Now now)
    : options_(std::move(options)), now_(std::move(now)), aggregate_(options_.group, options_.max_keys) {}

absl::StatusOr<std::unique_ptr<Exporter>> TableExporter::Create(const ExporterSpec& spec) {
  absl::StatusOr<TableExporterOptions> options = ParseTableExporterOptions(spec);
  if (!options.ok()) return options.status();
  return std::make_unique<TableExporter>(*std::move(options));
}

absl::Status TableExporter::Open(const SessionInfo& info) {
  info_ = info;
  target_ = options_.target == TableExporterOptions::kStderr ? options_.target : WithDirectory(options_.target);
  end_ns_ = info.start_ns;
  printed_ = now_();
  return absl::OkStatus();
}

absl::Status TableExporter::Export(const EventBatch& batch) {
  int64_t end_ns = end_ns_;
  for (const FunctionEvent& event : batch.events) {
    table::Aggregate::Expect(event);
    aggregate_.Add(event);
    end_ns = std::max(end_ns, event.end_ns);
  }
  end_ns_ = end_ns;
  for (const DeviceTimeShare& share : batch.device_times) aggregate_.AddDeviceTime(share);
  attempts_ += batch.count();
  return absl::OkStatus();
}

absl::Status TableExporter::OpenOutput() {
  if (target_ == TableExporterOptions::kStderr) {
    output_ = ReportOutput::Stderr();
    destination_ = output_->path();
    return absl::OkStatus();
  }
  PathContext context;
  context.pid = info_.pid;
  context.rank = info_.rank;
  context.host = info_.host_name;
  context.start_ns = info_.start_ns;
  std::string path = ExpandPath(target_, context);
  if (!IsStreamTarget(path)) {  // ranks may share /dev/null
    context.has_rank = info_.has_rank;
    context.label = info_.label;
    context.in_forked_child = info_.in_forked_child;
    path = ExpandPath(target_, context);
  }
  absl::StatusOr<std::unique_ptr<ReportOutput>> output = ReportOutput::Open(path, RunId(), WriteLineToStderr);
  if (!output.ok()) return output.status();
  output_ = *std::move(output);
  destination_ = output_->path();
  if (info_.file_opened && output_->is_file()) info_.file_opened(output_->temporary_path(), output_->path());
  return absl::OkStatus();
}

// A process that recorded nothing says nothing.
absl::Status TableExporter::Print(const ExportProgress& progress) {
  if (aggregate_.events() == 0) return absl::OkStatus();
  if (output_ == nullptr) {
    if (absl::Status opened = OpenOutput(); !opened.ok()) return opened;
  }
  table::ReportSource source;
  source.aggregate = &aggregate_;
  source.session = &info_;
  source.progress = &progress;
  source.options = &options_;
  source.end_ns = end_ns_;
  if (output_->is_file()) source.run_id = RunId();
  const bool json = options_.format == TableExporterOptions::Format::kJson;
  printed_ = now_();
  return output_->Write(json ? table::JsonReport(source) : table::TextReport(source));
}

absl::Status TableExporter::Flush(const ExportProgress& progress, absl::Time) {
  const bool to_file = target_ != TableExporterOptions::kStderr && (output_ == nullptr || output_->is_file()) &&
                       !IsStreamTarget(target_);
  const bool periodic = options_.every > absl::ZeroDuration();
  if (periodic ? now_() - printed_ < options_.every : !to_file) return absl::OkStatus();
  return Print(progress);
}

absl::Status TableExporter::Close(const ExportProgress& progress, absl::Time) {
  absl::Status status = Print(progress);
  if (output_ != nullptr && status.ok()) {
    status = output_->Finish();
    if (output_->is_file()) destination_ = output_->path();
  }
  // The latest report that the disk took is there, under the temporary name, but nobody can tell how much of the run it is.
  if (!status.ok()) not_delivered_ = attempts_;
  return status;
}

}  // namespace ferret
