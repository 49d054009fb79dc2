// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/file_io.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "runtime/export/file/file_claim.h"
#include "runtime/threads/never_destroyed.h"

namespace ferret {
namespace {

NeverDestroyed<FileIo> g_system;

}  // namespace

ssize_t FileIo::PWrite(int fd, const char* data, size_t size, int64_t offset) {
  return pwrite(fd, data, size, offset);
}

ssize_t FileIo::Write(int fd, const char* data, size_t size) { return write(fd, data, size); }

int FileIo::Truncate(int fd, int64_t size) { return ftruncate(fd, size); }

int FileIo::Stat(int fd, struct stat* status) { return fstat(fd, status); }

FileIo& SystemFileIo() {
  return g_system.object;
}

absl::Status PWriteAll(FileIo& io, int fd, std::string_view data, int64_t offset, size_t* written) {
  WriteSignalGuard guard;
  *written = 0;
  while (*written < data.size()) {
    const ssize_t count = io.PWrite(fd, data.data() + *written, data.size() - *written,
                                    offset + static_cast<int64_t>(*written));
    if (count > 0) {
      *written += static_cast<size_t>(count);
    } else if (count == 0) {
      return FileError(ENOSPC, "cannot write");
    } else if (errno != EINTR) {
      return FileError(errno, "cannot write");
    }
  }
  return absl::OkStatus();
}

absl::Status WriteAll(FileIo& io, int fd, std::string_view data, size_t* written) {
  WriteSignalGuard guard;
  *written = 0;
  while (*written < data.size()) {
    const ssize_t count = io.Write(fd, data.data() + *written, data.size() - *written);
    if (count >= 0) {
      *written += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return FileError(errno, "cannot write");
    pollfd writable = {fd, POLLOUT, 0};
    constexpr int kWaitMs = 1000;
    if (poll(&writable, 1, kWaitMs) == 0) return absl::UnavailableError("cannot write: the reader takes nothing");
  }
  return absl::OkStatus();
}

FileWatch::FileWatch(FileIo& io, int fd) : io_(io), fd_(fd) {
  struct stat status;
  has_names_ = io_.Stat(fd_, &status) == 0 && status.st_nlink > 0;
}

absl::Status FileWatch::Check(int64_t size) const {
  struct stat status;
  if (io_.Stat(fd_, &status) != 0) return absl::OkStatus();
  if (has_names_ && status.st_nlink == 0) return absl::DataLossError("was removed by somebody else; what was in it is lost");
  if (status.st_size < size) return absl::DataLossError("was cut short by somebody else; what was in it is lost");
  return absl::OkStatus();
}

}  // namespace ferret
