// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/file_io.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "runtime/export/file/file_claim.h"

namespace ferret {
namespace {

sigset_t WriteSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

ssize_t FileIo::PWrite(int fd, const char* data, size_t size, int64_t offset) {
  return pwrite(fd, data, size, offset);
}

ssize_t FileIo::Write(int fd, const char* data, size_t size) { return write(fd, data, size); }

int FileIo::Truncate(int fd, int64_t size) { return ftruncate(fd, size); }

FileIo& SystemFileIo() {
  static FileIo* const io = new FileIo;  // leaked, as everything that a late exporter may need
  return *io;
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

WriteSignalGuard::WriteSignalGuard() {
  const sigset_t wanted = WriteSignals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  block_pipe_ = sigismember(&before, SIGPIPE) == 0;
  block_size_ = sigismember(&before, SIGXFSZ) == 0;
}

WriteSignalGuard::~WriteSignalGuard() {
  if (!block_pipe_ && !block_size_) return;
  const int error = errno;
  sigset_t mine;
  sigemptyset(&mine);
  if (block_pipe_) sigaddset(&mine, SIGPIPE);
  if (block_size_) sigaddset(&mine, SIGXFSZ);
  // Both are sent to the thread that wrote, so a pending one is ours to take, before it would be delivered.
  sigset_t pending;
  sigpending(&pending);
  if (sigismember(&pending, SIGPIPE) != 0 || sigismember(&pending, SIGXFSZ) != 0) {
    const timespec none = {0, 0};
    while (sigtimedwait(&mine, nullptr, &none) > 0) {
    }
  }
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  errno = error;
}

}  // namespace ferret
