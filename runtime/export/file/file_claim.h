// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FileClaim: the right to write one file, held while the process lives.
//
// A document grows under <path>.tmp and is renamed into place when it is finished. An exclusive flock on the .tmp file
// says that its writer is alive; the kernel drops it with the process, so nothing is left to be cleaned up by hand.
//
//   .tmp is new                       it is ours
//   .tmp is locked                    its writer is alive: "-<pid>" is added to the name
//   .tmp has content but no lock      its writer died: the file is kept as <path>-<its pid>, and the name is ours
//   <path> exists when we finish      replaced, unless its run id is ours: then "-<pid>" is added to the name
//
// A forked child shares neither lock nor descriptor (*children never write*): the descriptor is closed in the child as
// it starts, and every function below does nothing outside the process that made the claim.

#ifndef FERRET_RUNTIME_EXPORT_FILE_FILE_CLAIM_H_
#define FERRET_RUNTIME_EXPORT_FILE_FILE_CLAIM_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferret {

// Receives a complete line without a newline, for the user.
using DiagnosticFn = std::function<void(const std::string&)>;

class FileClaim {
 public:
  // Makes missing directories. `path` should be absolute if the program may change its directory.
  static absl::StatusOr<std::unique_ptr<FileClaim>> Take(const std::string& path, const DiagnosticFn& diagnostic);

  // Leaves the .tmp file where it is unless Publish succeeded, or it is empty.
  ~FileClaim();
  FileClaim(const FileClaim&) = delete;
  FileClaim& operator=(const FileClaim&) = delete;

  // Open for reading and writing, empty at first; owned by the claim.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  // False in a forked child.
  bool IsOwner() const;

  // Renames the file into place, see above; path() is then where it is. NotFound if somebody has moved or removed it.
  absl::Status Publish(const std::string& run_id);

 private:
  FileClaim(int fd, std::string path, std::string wanted);

  int fd_;
  std::string path_;          // without .tmp; the file is path_ + ".tmp" until it is published
  const std::string wanted_;  // what the caller asked for
  const pid_t owner_;
  bool published_ = false;
};

// An error of a system call as a status: ENOSPC and EDQUOT are ResourceExhausted, and so on.
absl::Status FileError(int error, const std::string& what);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_FILE_CLAIM_H_
