// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "runtime/export/file/growing_file.h"

namespace ferret {
namespace {

class TailFile final : public GrowingFile {
 public:
  TailFile(int fd, FileIo& io) : fd_(fd), io_(io), watch_(io, fd) {}

 private:
  absl::Status Check() const override { return watch_.Check(body_end_ + static_cast<int64_t>(tail_.size())); }

  absl::Status Write(std::string_view piece, std::string_view tail) override {
    if (piece.empty() && tail == tail_) return absl::OkStatus();
    image_.assign(piece);
    image_.append(tail);
    size_t written;
    absl::Status status = PWriteAll(io_, fd_, image_, body_end_, &written);
    if (!status.ok()) {
      // The old tail goes back to where its blocks are still allocated, before anything is given up.
      size_t restored;
      PWriteAll(io_, fd_, tail_, body_end_, &restored).IgnoreError();
      io_.Truncate(fd_, body_end_ + static_cast<int64_t>(tail_.size()));
      return status;
    }
    if (image_.size() < tail_.size()) io_.Truncate(fd_, body_end_ + static_cast<int64_t>(image_.size()));
    body_end_ += static_cast<int64_t>(piece.size());
    tail_ = std::string(tail);
    return status;
  }

  absl::Status WriteLast(std::string_view tail) override { return Write("", tail); }

  const int fd_;
  FileIo& io_;
  const FileWatch watch_;
  int64_t body_end_ = 0;
  std::string tail_;
  std::string image_;
};

class StreamFile final : public GrowingFile {
 public:
  StreamFile(int fd, FileIo& io) : fd_(fd), io_(io) {}

 private:
  // Nothing can follow half a piece.
  void GivenUp() override { is_broken_ = taken_ > 0; }

  // A pipe may take part of a piece and then nothing; what it took is left out when the piece is tried again.
  absl::Status Write(std::string_view piece, std::string_view) override {
    if (is_broken_) return absl::UnavailableError("cannot write: the last piece was taken in part only");
    piece.remove_prefix(taken_);
    size_t written;
    absl::Status status = WriteAll(io_, fd_, piece, &written);
    taken_ = status.ok() ? 0 : taken_ + written;
    return status;
  }

  absl::Status WriteLast(std::string_view tail) override { return Write(tail, ""); }

  const int fd_;
  FileIo& io_;
  size_t taken_ = 0;
  bool is_broken_ = false;
};

}  // namespace

std::unique_ptr<GrowingFile> NewTailFile(int fd, FileIo& io) { return std::make_unique<TailFile>(fd, io); }

std::unique_ptr<GrowingFile> NewStreamFile(int fd, FileIo& io) { return std::make_unique<StreamFile>(fd, io); }

}  // namespace ferret
