// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A text document with room between body and tail:
//
//   0          body_end_                  gap_end_              file_end_
//   | body ... | blanks ................. | blanks ... | tail   |
//              ^ the next piece           ^ a page boundary     ^ a page boundary, end of the file
//
// A piece replaces blanks from body_end_ on. Whichever of its pages are there when the writer is killed, the text ends
// between two units and only blanks lie before the tail. The tail is replaced in its own page. When the gap is used up
// the file is extended by blanks, which JSON allows after the document, and then the tail moves: it is written at the
// new end and the old one blanked. Between these two small writes, and only there, the file has two tails.

#include <errno.h>

#include <algorithm>
#include <string>

#include "runtime/export/file/file_claim.h"
#include "runtime/export/file/growing_file.h"

namespace ferret {
namespace {

// A larger gap means fewer moves and more blanks at the end of a file whose writer was killed.
constexpr int64_t kSmallestGap = kPieceBytes;
constexpr int64_t kLargestGap = 1024 * 1024;

// The numbers in a tail get longer; a tail that outgrows its page moves, which is safe but not for free.
constexpr int64_t kTailGrowth = 512;

int64_t RoundUpToPage(int64_t size) {
  constexpr int64_t page = kPageBytes;
  return (size + page - 1) / page * page;
}

class GapFile final : public GrowingFile {
 public:
  GapFile(int fd, FileIo& io) : fd_(fd), io_(io), watch_(io, fd), blanks_(kPieceBytes, ' ') {}

 private:
  absl::Status Check() const override { return watch_.Check(file_end_); }

  absl::Status Write(std::string_view piece, std::string_view tail) override {
    if (file_end_ == 0) return Start(piece, tail);
    if (body_end_ + Size(piece) > gap_end_ || Size(tail) > file_end_ - gap_end_) {
      absl::Status moved = MoveTail(Size(piece), tail);
      if (!moved.ok()) return moved;
    }
    size_t written;
    absl::Status status = PWriteAll(io_, fd_, piece, body_end_, &written);
    if (!status.ok()) {
      // Half a unit may be there. These blocks are allocated, so blanking them needs no space.
      Blank(body_end_, static_cast<int64_t>(written)).IgnoreError();
      return status;
    }
    body_end_ += Size(piece);
    // From here on the piece is in the document; an old tail closes it as well as a new one does.
    PutTail(tail).IgnoreError();
    return absl::OkStatus();
  }

  absl::Status WriteLast(std::string_view tail) override {
    if (file_end_ == 0) return Start("", tail);
    if (Size(tail) > file_end_ - gap_end_) {
      absl::Status moved = MoveTail(0, tail);
      if (!moved.ok()) return moved;
    }
    size_t written;
    absl::Status status = PWriteAll(io_, fd_, tail, body_end_, &written);
    const int64_t end = body_end_ + Size(tail);
    if (status.ok() && io_.Truncate(fd_, end) != 0) status = FileError(errno, "cannot write");
    if (status.ok()) {
      gap_end_ = body_end_;
      file_end_ = end;
      tail_ = std::string(tail);
      return status;
    }
    Blank(body_end_, static_cast<int64_t>(written)).IgnoreError();
    PutTail(tail).IgnoreError();
    return status;
  }

  // In one write and, for a head of normal size, in one page: the file is empty or a document.
  absl::Status Start(std::string_view piece, std::string_view tail) {
    const int64_t end = RoundUpToPage(Size(piece) + Size(tail));
    std::string image(piece);
    image.append(static_cast<size_t>(end - Size(piece) - Size(tail)), ' ');
    image.append(tail);
    size_t written;
    absl::Status status = PWriteAll(io_, fd_, image, 0, &written);
    if (!status.ok()) {
      io_.Truncate(fd_, 0);
      return status;
    }
    body_end_ = gap_end_ = Size(piece);
    file_end_ = end;
    tail_ = std::string(tail);
    return absl::OkStatus();
  }

  absl::Status MoveTail(int64_t needed, std::string_view tail) {
    const int64_t tail_room = RoundUpToPage(Size(tail) + kTailGrowth);
    const int64_t wanted = std::clamp<int64_t>(file_end_, kSmallestGap, kLargestGap);
    absl::Status status;
    // With little space left a smaller gap may still do.
    for (const int64_t gap : {std::max(wanted, RoundUpToPage(needed)), RoundUpToPage(needed)}) {
      const int64_t new_end = file_end_ + gap + tail_room;
      status = Blank(file_end_, new_end - file_end_);
      if (status.ok()) return MoveTailTo(new_end, tail_room, tail);
      io_.Truncate(fd_, file_end_);
    }
    return status;
  }

  absl::Status MoveTailTo(int64_t new_end, int64_t tail_room, std::string_view tail) {
    WriteSignalGuard guard;
    absl::Status status;
    size_t written;
    // If all goes well, nothing but these two calls is done while there are two tails.
    const ssize_t put = io_.PWrite(fd_, tail.data(), tail.size(), new_end - Size(tail));
    if (put != Size(tail)) status = PWriteAll(io_, fd_, tail, new_end - Size(tail), &written);
    if (status.ok()) {
      const ssize_t blanked = tail_.size() <= blanks_.size()
                                  ? io_.PWrite(fd_, blanks_.data(), tail_.size(), file_end_ - Size(tail_))
                                  : -1;
      if (blanked != Size(tail_)) status = Blank(file_end_ - Size(tail_), Size(tail_));
    }
    if (!status.ok()) {
      // Without the new tail the old one must be there, whole.
      io_.Truncate(fd_, file_end_);
      PWriteAll(io_, fd_, tail_, file_end_ - Size(tail_), &written).IgnoreError();
      return status;
    }
    gap_end_ = new_end - tail_room;
    file_end_ = new_end;
    tail_ = std::string(tail);
    return status;
  }

  absl::Status PutTail(std::string_view tail) {
    if (tail == tail_) return absl::OkStatus();
    // From the start of the longer one, so that nothing of the old tail stays in front of the new one.
    const size_t length = std::max(tail.size(), tail_.size());
    std::string image(length - tail.size(), ' ');
    image.append(tail);
    size_t written;
    absl::Status status = PWriteAll(io_, fd_, image, file_end_ - static_cast<int64_t>(length), &written);
    if (status.ok()) {
      tail_ = std::string(tail);
      return status;
    }
    std::string old(length - tail_.size(), ' ');
    old.append(tail_);
    PWriteAll(io_, fd_, old, file_end_ - static_cast<int64_t>(length), &written).IgnoreError();
    return status;
  }

  absl::Status Blank(int64_t offset, int64_t size) {
    while (size > 0) {
      const size_t count = std::min(blanks_.size(), static_cast<size_t>(size));
      size_t written;
      absl::Status status = PWriteAll(io_, fd_, std::string_view(blanks_.data(), count), offset, &written);
      if (!status.ok()) return status;
      offset += static_cast<int64_t>(count);
      size -= static_cast<int64_t>(count);
    }
    return absl::OkStatus();
  }

  static int64_t Size(std::string_view text) { return static_cast<int64_t>(text.size()); }

  const int fd_;
  FileIo& io_;
  const FileWatch watch_;
  const std::string blanks_;
  int64_t body_end_ = 0;
  int64_t gap_end_ = 0;
  int64_t file_end_ = 0;
  std::string tail_;  // as it stands at the end of the file
};

}  // namespace

std::unique_ptr<GrowingFile> NewGapFile(int fd, FileIo& io) { return std::make_unique<GapFile>(fd, io); }

}  // namespace ferret
