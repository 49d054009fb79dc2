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
  absl::StatusOr<std::unique_ptr<FileClaim>> claim = FileClaim::Take(path, diagnostic);
  if (!claim.ok()) return claim.status();
  output->claim_ = *std::move(claim);
  return output;
}

ReportOutput::~ReportOutput() {
  if (owns_fd_ && getpid() == owner_) close(fd_);
}

absl::Status ReportOutput::Write(std::string_view report) {
  if (getpid() != owner_) return absl::FailedPreconditionError("a forked child does not write its parent's report");
  const WriteSignalGuard guard;
  size_t written = 0;
  if (claim_ == nullptr) return WriteAll(SystemFileIo(), fd_, report, &written);
  absl::Status status = PWriteAll(SystemFileIo(), claim_->fd(), report, 0, &written);
  // What is left of a longer one before would stand behind it.
  if (status.ok() && ftruncate(claim_->fd(), static_cast<off_t>(report.size())) != 0) {
    status = FileError(errno, absl::StrCat("cannot write ", temporary_path()));
  }
  return status;
}

absl::Status ReportOutput::Finish() { return claim_ == nullptr ? absl::OkStatus() : claim_->Publish(run_id_); }

}  // namespace ferret::table
