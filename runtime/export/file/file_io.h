// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The system calls of a growing file, so that a test can put a full disk or a recorder in their place.

#ifndef FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_
#define FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/threads/write_signal_guard.h"

namespace ferret {

// As the system calls: -1 and errno on failure, and a short count is possible.
class FileIo {
 public:
  constexpr FileIo() = default;
  virtual ~FileIo() = default;
  virtual ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset);
  virtual ssize_t Write(int fd, const char* data, size_t size);
  virtual int Truncate(int fd, int64_t size);
  virtual int Stat(int fd, struct stat* status);
};

FileIo& SystemFileIo();

// Writes all of `data`, going on after short counts and EINTR. *written says how much of it was written in any case.
absl::Status PWriteAll(FileIo& io, int fd, std::string_view data, int64_t offset, size_t* written);

// The same for what cannot seek. Waits up to a second when a non-blocking descriptor takes nothing.
absl::Status WriteAll(FileIo& io, int fd, std::string_view data, size_t* written);

// Finds out whether somebody else has removed a regular file that is written to, or cut it short.
class FileWatch {
 public:
  // The file is there, and stays open.
  FileWatch(FileIo& io, int fd);
  // DataLoss if the file has no name any more, or is shorter than that. OK if the system does not say.
  absl::Status Check(int64_t size) const;

 private:
  FileIo& io_;
  const int fd_;
  bool has_names_ = false;  // there are file systems that do not count them
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_
