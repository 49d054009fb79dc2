// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a write must not do to the host program: a host's thread that prints a line, or one of Ferret's that writes a file.

#ifndef FERRET_RUNTIME_THREADS_WRITE_SIGNAL_GUARD_H_
#define FERRET_RUNTIME_THREADS_WRITE_SIGNAL_GUARD_H_

namespace ferret {

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

#endif  // FERRET_RUNTIME_THREADS_WRITE_SIGNAL_GUARD_H_
