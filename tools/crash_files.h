// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Crash files, found and mapped.

#ifndef FERRET_TOOLS_CRASH_FILES_H_
#define FERRET_TOOLS_CRASH_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ferret {

// A file's bytes as long as it lives. Read only; what its process writes is seen. Who reads it dies by a signal if
// somebody makes the file shorter.
class MappedFile {
 public:
  // kHolding: no symbolic link, and by a descriptor that may write, if there is one, as file systems on a network want it
  // for a lock.
  enum class For { kReading, kHolding };
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(const std::string& path, For what = For::kReading);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return bytes_; }
  int fd() const { return fd_; }

 private:
  MappedFile(int fd, std::string_view bytes) : fd_(fd), bytes_(bytes) {}
  const int fd_;
  const std::string_view bytes_;
};

// The crash files in a folder, by name; a file itself.
absl::StatusOr<std::vector<std::string>> CrashFilesAt(const std::string& path);

}  // namespace ferret

#endif  // FERRET_TOOLS_CRASH_FILES_H_
