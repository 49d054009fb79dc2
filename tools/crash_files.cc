// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/crash_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferret {

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(const std::string& path, For what) {
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = what == For::kHolding ? open(path.c_str(), O_RDWR | O_NOFOLLOW | kFlags) : -1;
  if (fd < 0) fd = open(path.c_str(), O_RDONLY | (what == For::kHolding ? O_NOFOLLOW : 0) | kFlags);
  if (fd < 0 && errno == ELOOP && what == For::kHolding) return absl::InvalidArgumentError("a symbolic link");
  if (fd < 0) return absl::ErrnoToStatus(errno, strerror(errno));
  struct stat status;
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const size_t size = regular ? static_cast<size_t>(status.st_size) : 0;
  void* const bytes = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (!regular || bytes == MAP_FAILED) {
    close(fd);
    if (!regular) return absl::InvalidArgumentError("not a regular file");
    return absl::ResourceExhaustedError("cannot be mapped");
  }
  return std::unique_ptr<MappedFile>(new MappedFile(fd, {static_cast<const char*>(bytes), size}));
}

MappedFile::~MappedFile() {
  close(fd_);
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

absl::StatusOr<std::vector<std::string>> CrashFilesAt(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, "ferret-") && absl::EndsWith(name, ".crash")) files.push_back(entry->path().string());
  }
  if (error) return absl::UnavailableError(absl::StrCat(absl::CHexEscape(path), ": ", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ferret
