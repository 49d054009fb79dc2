// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/target_path.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/export/file/document_file.h"
#include "runtime/export/file/file_claim.h"
#include "runtime/export/file/file_io.h"

namespace ferret {

std::string CurrentDirectory() {
  std::string path(4096, '\0');
  if (getcwd(path.data(), path.size()) == nullptr) return "";
  path.resize(path.find('\0'));
  return path == "/" ? path : path + "/";
}

void WriteLineToStderr(const std::string& text) {
  // One write, so that lines of several processes do not mix.
  const std::string line = absl::StrCat("ferret: ", text, "\n");
  size_t written;
  WriteAll(SystemFileIo(), STDERR_FILENO, line, &written).IgnoreError();
}

absl::Status CheckWritable(const std::string& path) {
  if (IsStreamTarget(path)) return absl::OkStatus();
  // The directory that the file, or its missing directories, would be made in.
  std::string directory = path.substr(0, path.rfind('/') + 1);
  while (directory.size() > 1 && access(directory.c_str(), F_OK) != 0 && errno == ENOENT) {
    directory.resize(directory.rfind('/', directory.size() - 2) + 1);
  }
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", path, ": it is a directory"));
  }
  if (access(directory.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return FileError(errno, absl::StrCat("cannot write ", path));
}

std::string ShownPath(const std::string& path, const std::string& directory) {
  return !directory.empty() && absl::StartsWith(path, directory) ? path.substr(directory.size()) : path;
}

}  // namespace ferret
