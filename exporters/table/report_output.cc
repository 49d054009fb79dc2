// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/table/report_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/document_file.h"
#include "runtime/export/file/file_io.h"

namespace ferret::table {

std::unique_ptr<ReportOutput> ReportOutput::Stderr() {
  std::unique_ptr<ReportOutput> output(new ReportOutput);
  output->path_ = "stderr";
  output->fd_ = STDERR_FILENO;
  output->owner_ = getpid();
  return output;
}

absl::StatusOr<std::unique_ptr<ReportOutput>> ReportOutput::Open(const std::string& path, const std::string& run_id,
                                                                 const DiagnosticFn& diagnostic) {
  std::unique_ptr<ReportOutput> output(new ReportOutput);
  output->path_ = path;
  output->run_id_ = run_id;
  output->owner_ = getpid();
  if (IsStreamTarget(path)) {
    // O_APPEND: /dev/stdout may be a regular file that others write to as well.
    output->fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (output->fd_ < 0) return FileError(errno, absl::StrCat("cannot open ", path));
    output->owns_fd_ = true;
    return output;
  }
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", path, ": it is a directory"));
  }
  output->is_file_ = true;
  output->diagnostic_ = diagnostic;
  if (absl::Status claimed = output->Claim(); !claimed.ok()) return claimed;
  return output;
}

absl::Status ReportOutput::Claim() {
  claim_.reset();
  absl::StatusOr<std::unique_ptr<FileClaim>> claim = FileClaim::Take(path_, diagnostic_);
  if (!claim.ok()) return claim.status();
  claim_ = *std::move(claim);
  watch_.emplace(SystemFileIo(), claim_->fd());
  latest_.clear();
  return absl::OkStatus();
}

ReportOutput::~ReportOutput() {
  if (owns_fd_ && getpid() == owner_) close(fd_);
}

absl::Status ReportOutput::Write(std::string_view report) {
  if (getpid() != owner_) return absl::FailedPreconditionError("a forked child does not write its parent's report");
  size_t written = 0;
  if (!is_file_) return WriteAll(SystemFileIo(), fd_, report, &written);
  // A file that was cut short only is written as a whole again anyway.
  if (claim_ == nullptr || !watch_->Check(0).ok()) {
    if (absl::Status claimed = Claim(); !claimed.ok()) return claimed;
  }
  absl::Status status = WriteToFile(report);
  if (status.ok()) {
    latest_ = std::string(report);
  } else {
    WriteToFile(latest_).IgnoreError();
  }
  return status;
}

absl::Status ReportOutput::WriteToFile(std::string_view report) {
  const WriteSignalGuard guard;
  size_t written = 0;
  absl::Status status = PWriteAll(SystemFileIo(), claim_->fd(), report, 0, &written);
  // What is left of a longer one before would stand behind it.
  if (status.ok() && ftruncate(claim_->fd(), static_cast<off_t>(report.size())) != 0) {
    status = FileError(errno, "cannot write");
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(temporary_path(), ": ", status.message()));
}

absl::Status ReportOutput::Finish() { return claim_ == nullptr ? absl::OkStatus() : claim_->Publish(run_id_); }

std::string ReportOutput::path() const { return claim_ == nullptr ? path_ : claim_->path(); }

}  // namespace ferret::table
