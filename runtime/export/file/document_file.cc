// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/document_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferret {

bool IsStreamTarget(const std::string& path) {
  if (absl::StartsWith(path, "/dev/fd/") || absl::StartsWith(path, "/proc/self/fd/") || path == "/dev/stdout" ||
      path == "/dev/stderr") {
    return true;
  }
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

absl::StatusOr<std::unique_ptr<DocumentFile>> DocumentFile::Open(const DocumentFileOptions& options) {
  FileIo& io = options.io != nullptr ? *options.io : SystemFileIo();
  std::unique_ptr<DocumentFile> file(new DocumentFile);
  file->path_ = options.path;
  file->run_id_ = options.run_id;
  file->owner_ = getpid();
  if (IsStreamTarget(options.path)) {
    // O_APPEND: /dev/stdout may be a regular file that others write to as well.
    file->stream_fd_ = open(options.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (file->stream_fd_ < 0) return FileError(errno, absl::StrCat("cannot open ", options.path));
    file->file_ = NewStreamFile(file->stream_fd_, io);
  } else {
    struct stat status;
    if (stat(options.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      return absl::FailedPreconditionError(absl::StrCat("cannot write ", options.path, ": it is a directory"));
    }
    absl::StatusOr<std::unique_ptr<FileClaim>> claim = FileClaim::Take(options.path, options.diagnostic);
    if (!claim.ok()) return claim.status();
    file->claim_ = *std::move(claim);
    const bool has_gaps = options.has_tail && !options.gzip;
    file->keeps_units_in_pages_ = has_gaps;
    file->file_ = has_gaps ? NewGapFile(file->claim_->fd(), io) : NewTailFile(file->claim_->fd(), io);
  }
  if (options.gzip) file->gzip_.emplace(options.gzip_level);
  return file;
}

DocumentFile::~DocumentFile() {
  if (stream_fd_ >= 0 && InOwnProcess()) close(stream_fd_);
}

bool DocumentFile::InOwnProcess() const { return getpid() == owner_; }

absl::Status DocumentFile::Append(std::string_view piece, std::string_view tail) {
  if (!InOwnProcess()) return absl::FailedPreconditionError("a forked child does not write its parent's file");
  text_bytes_ += piece.size();
  if (!gzip_) return Named(file_->Append(piece, tail));
  absl::Status status = gzip_->Encode(piece, &encoded_);
  if (!status.ok()) return status;
  gzip_->EncodeTail(tail, &encoded_tail_);
  return Named(file_->Append(encoded_, encoded_tail_));
}

absl::Status DocumentFile::Retry() {
  if (!InOwnProcess()) return absl::FailedPreconditionError("a forked child does not write its parent's file");
  return Named(file_->Retry());
}

absl::Status DocumentFile::Finish(std::string_view tail) {
  if (!InOwnProcess()) return absl::FailedPreconditionError("a forked child does not write its parent's file");
  absl::Status status;
  if (gzip_) {
    gzip_->EncodeTail(tail, &encoded_tail_);
    status = file_->Finish(encoded_tail_);
  } else {
    status = file_->Finish(tail);
  }
  if (!status.ok() || claim_ == nullptr) return Named(status);
  return claim_->Publish(run_id_);
}

absl::Status DocumentFile::FinishWithoutBacklog(std::string_view tail) {
  if (!InOwnProcess()) return absl::FailedPreconditionError("a forked child does not write its parent's file");
  const bool had_backlog = file_->backlog_pieces() > 0;
  file_->GiveUp();
  if (!file_->has_pieces()) return Named(absl::UnavailableError("nothing could be written"));
  absl::Status status;
  if (!gzip_ || !had_backlog) status = Finish(tail);
  if (absl::IsDataLoss(status) || claim_ == nullptr) return status;
  status.Update(claim_->Publish(run_id_));
  return status;
}

void DocumentFile::Discard() {
  if (!InOwnProcess()) return;
  file_->GiveUp();
  if (claim_ == nullptr) return;
  // The claim takes an empty file away; what cannot be emptied stays.
  [[maybe_unused]] const int result = ftruncate(claim_->fd(), 0);
}

absl::Status DocumentFile::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(is_stream() ? path_ : temporary_path(), ": ", status.message()));
}

}  // namespace ferret
