// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GrowingFile: a file that is a complete document while it grows.
//
// A document is a body that only gets longer and a tail that closes it ("]}" in JSON, the trailer in gzip). Pieces are
// appended to the body, and after each one the tail follows again, so that whoever reads the file at any moment, also
// after the writer was killed, reads a complete document. Three kinds, for three places:
//
//   NewGapFile     text in a regular file. Blanks lie between body and tail, and pieces are written into them.
//   NewTailFile    anything in a regular file: each piece overwrites the tail and ends with the new one.
//   NewStreamFile  a pipe, a terminal, /dev/null: plain appending, the tail comes last.
//
// Why not always the second, which is simpler: the kernel looks for SIGKILL after every page of a write (in
// generic_perform_write), so a write of several pages can be cut, and then the tail is missing. In a gap file every
// write that replaces anything stays in one page, or leaves a complete document behind however many of its pages are
// done, provided that no unit of the text crosses a multiple of kPageBytes (see UnitBuffer). What remains is one moment
// per gap, in which the tail moves. A tail file has one such moment per piece, as long as the write of it takes; what a
// kill leaves then is the body up to that piece, without a tail.
//
// One thread at a time.

#ifndef FERRET_RUNTIME_EXPORT_FILE_GROWING_FILE_H_
#define FERRET_RUNTIME_EXPORT_FILE_GROWING_FILE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/export/file/file_io.h"

namespace ferret {

// The most that a writer should hand over in one piece.
inline constexpr size_t kPieceBytes = 64 * 1024;
// The smallest page of any machine that Ferret runs on; larger ones are multiples.
inline constexpr size_t kPageBytes = 4096;

class GrowingFile {
 public:
  virtual ~GrowingFile() = default;

  // Takes the piece over in any case. OK: it and the tail are in the file. Otherwise it waits in memory for Retry, and
  // the file is the complete document that it was before; but after DataLoss that is gone (see FileWatch), and every further
  // call says so.
  absl::Status Append(std::string_view piece, std::string_view tail);
  // Writes what waits, oldest first.
  absl::Status Retry();
  size_t backlog_bytes() const { return backlog_bytes_; }
  size_t backlog_pieces() const { return backlog_.size(); }
  // Forgets what waits: the document ends with what is in the file.
  void GiveUp();
  // Whether any piece is in the file: without one it is no document.
  bool has_pieces() const { return has_pieces_; }

  // The last call: nothing but the body and this tail is left in the file.
  absl::Status Finish(std::string_view tail);

 protected:
  // DataLoss if what was written is gone.
  virtual absl::Status Check() const { return absl::OkStatus(); }
  // Called when the piece whose Write failed last will not come again.
  virtual void GivenUp() {}
  // All or nothing.
  virtual absl::Status Write(std::string_view piece, std::string_view tail) = 0;
  virtual absl::Status WriteLast(std::string_view tail) = 0;

 private:
  struct Piece {
    std::string bytes;
    std::string tail;
  };
  std::deque<Piece> backlog_;
  size_t backlog_bytes_ = 0;
  bool has_pieces_ = false;
};

// `fd` stays the caller's and is an empty file.
std::unique_ptr<GrowingFile> NewGapFile(int fd, FileIo& io);
std::unique_ptr<GrowingFile> NewTailFile(int fd, FileIo& io);
std::unique_ptr<GrowingFile> NewStreamFile(int fd, FileIo& io);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_GROWING_FILE_H_
