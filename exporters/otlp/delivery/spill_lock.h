// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The lock that says whose a spill file is: the process's that made it while it lives, then whoever's takes it. Not kept
// by the children of a fork. Whoever holds it opens the file once only: closing any descriptor of the file would end it.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_LOCK_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_LOCK_H_

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "absl/status/status.h"

namespace ferret::otlp {

// FailedPrecondition if another process has it. For writing, the descriptor must be open for that; for reading, several
// processes may have it.
inline absl::Status LockSpillFile(int fd, bool for_writing = true) {
  struct flock lock = {};
  lock.l_type = for_writing ? F_WRLCK : F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd, F_SETLK, &lock) == 0) return absl::OkStatus();
  if (errno == EACCES || errno == EAGAIN) return absl::FailedPreconditionError("it belongs to a process that is running");
  return absl::UnavailableError(strerror(errno));
}

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_LOCK_H_
