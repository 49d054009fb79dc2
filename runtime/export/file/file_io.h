// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The system calls of a growing file, so that a test can put a full disk or a recorder in their place.

#ifndef FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_
#define FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace ferret {

// As the system calls: -1 and errno on failure, and a short count is possible.
class FileIo {
 public:
  virtual ~FileIo() = default;
  virtual ssize_t PWrite(int fd, const char* data, size_t size, int64_t offset);
  virtual ssize_t Write(int fd, const char* data, size_t size);
  virtual int Truncate(int fd, int64_t size);
};

FileIo& SystemFileIo();

// Writes all of `data`, going on after short counts and EINTR. *written says how much of it was written in any case.
absl::Status PWriteAll(FileIo& io, int fd, std::string_view data, int64_t offset, size_t* written);

// The same for what cannot seek. Waits up to a second when a non-blocking descriptor takes nothing.
absl::Status WriteAll(FileIo& io, int fd, std::string_view data, size_t* written);

// Keeps SIGPIPE and SIGXFSZ, which the kernel sends for a reader that went away or a file that grew over a limit and
// which end a program by default, from the calling thread; the call fails with EPIPE or EFBIG all the same.
class WriteSignalGuard {
 public:
  WriteSignalGuard();
  ~WriteSignalGuard();
  WriteSignalGuard(const WriteSignalGuard&) = delete;
  WriteSignalGuard& operator=(const WriteSignalGuard&) = delete;

 private:
  bool block_pipe_;
  bool block_size_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_FILE_IO_H_
