// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/crash_hold.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

absl::Status CheckOwner(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError("not a regular file");
  if (status.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("it belongs to user ", status.st_uid));
  }
  return absl::OkStatus();
}

}  // namespace

CrashHold HoldCrashFile(const MappedFile& file, const internal::ProcessStamp& stamp, const std::string& path) {
  int result;
  do {
    result = flock(file.fd(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  const bool others = result != 0 && errno == EWOULDBLOCK;
  if (IsWriterRunning(stamp, path)) return CrashHold::kStillRecording;
  if (others) return CrashHold::kElsewhere;
  struct stat status;
  return fstat(file.fd(), &status) == 0 && status.st_nlink == 0 ? CrashHold::kRecovered : CrashHold::kOurs;
}

bool IsOfAnotherUser(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && status.st_uid != geteuid();
}

absl::Status CheckIsOwn(const MappedFile& file) {
  struct stat status;
  if (fstat(file.fd(), &status) != 0) return absl::ErrnoToStatus(errno, strerror(errno));
  if (absl::Status owner = CheckOwner(status); !owner.ok()) return owner;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return absl::PermissionDeniedError("other users may write to it");
  return absl::OkStatus();
}

absl::Status CheckIsOwn(const std::string& output) {
  struct stat status;
  if (lstat(output.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::OkStatus() : absl::ErrnoToStatus(errno, strerror(errno));
  }
  return CheckOwner(status);
}

}  // namespace ferret
