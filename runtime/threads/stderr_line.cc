// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/threads/stderr_line.h"

#include <errno.h>
#include <unistd.h>

#include <string>

#include "runtime/threads/write_signal_guard.h"

namespace ferret {

void WriteStderrLine(std::string_view text) {
  const int error = errno;
  std::string line = "ferret: ";
  line += text;
  line += '\n';
  const WriteSignalGuard guard;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  errno = error;
}

}  // namespace ferret
