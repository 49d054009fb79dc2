// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/growing_file.h"

namespace ferret {

absl::Status GrowingFile::Append(std::string_view piece, std::string_view tail) {
  absl::Status status = Retry();
  if (status.ok()) status = Write(piece, tail);
  if (status.ok()) {
    has_pieces_ = true;
  } else {
    backlog_.push_back({std::string(piece), std::string(tail)});
    backlog_bytes_ += piece.size() + tail.size();
  }
  return status;
}

absl::Status GrowingFile::Retry() {
  if (absl::Status there = Check(); !there.ok()) return there;
  while (!backlog_.empty()) {
    const Piece& oldest = backlog_.front();
    absl::Status status = Write(oldest.bytes, oldest.tail);
    if (!status.ok()) return status;
    has_pieces_ = true;
    backlog_bytes_ -= oldest.bytes.size() + oldest.tail.size();
    backlog_.pop_front();
  }
  return absl::OkStatus();
}

void GrowingFile::GiveUp() {
  if (!backlog_.empty()) GivenUp();
  backlog_.clear();
  backlog_bytes_ = 0;
}

absl::Status GrowingFile::Finish(std::string_view tail) {
  absl::Status status = Retry();
  if (!status.ok()) return status;
  return WriteLast(tail);
}

}  // namespace ferret
