// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/disk/faulty_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace ferret {
namespace {

constexpr int kMostFiles = 4096;

// Written while no thread of a session runs.
std::string* g_folder = nullptr;
DiskFault g_fault;
std::atomic<bool> g_on{false};
std::atomic<int> g_calls{0};
std::atomic<int> g_failures{0};
std::array<std::atomic<bool>, kMostFiles> g_open{};  // descriptors of files in the folder

bool IsInFolder(const char* path) {
  return g_on.load() && std::strncmp(path, g_folder->c_str(), g_folder->size()) == 0;
}
bool IsInFolder(int fd) {
  return g_on.load() && fd >= 0 && fd < kMostFiles && g_open[static_cast<size_t>(fd)].load();
}
void Note(int fd, bool open) {
  if (fd >= 0 && fd < kMostFiles) g_open[static_cast<size_t>(fd)].store(open);
}

// Counts a call, and says whether it is one of those that fail.
bool IsDue() {
  const int call = ++g_calls;
  return call >= g_fault.first && (g_fault.calls == 0 || call < g_fault.first + g_fault.calls);
}

int Fail(int error) {
  ++g_failures;
  errno = error;
  return -1;
}

// Of a call that takes no space.
bool FailsPlainly() { return IsDue() && g_fault.kind == DiskFault::Kind::kError; }
// Of one that does.
bool FailsToMake(int* error) {
  if (!IsDue()) return false;
  *error = g_fault.kind == DiskFault::Kind::kNoSpace ? ENOSPC : g_fault.error;
  return g_fault.kind == DiskFault::Kind::kError || g_fault.kind == DiskFault::Kind::kNoSpace;
}

// How much of a write that ends at `end` goes through; or -1 and errno.
ssize_t WriteOnDisk(int fd, const void* data, size_t size, off_t offset) {
  const auto real = [&](size_t bytes) { return syscall(SYS_pwrite64, fd, data, bytes, offset); };
  if (!IsInFolder(fd) || !IsDue()) return real(size);
  switch (g_fault.kind) {
    case DiskFault::Kind::kError: return Fail(g_fault.error);
    case DiskFault::Kind::kInterrupted: return Fail(EINTR);
    case DiskFault::Kind::kShort: ++g_failures; return real((size + 1) / 2);
    case DiskFault::Kind::kNoSpace: break;
  }
  struct stat status;
  syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH);
  // Blocks that are there are written to; half of what is beyond them is still to be had if it is more than a page.
  const off_t end = offset + static_cast<off_t>(size);
  const off_t room = (std::max<off_t>(status.st_size, offset) + 4095) / 4096 * 4096;
  if (end <= room) return real(size);
  if (g_failures.load() > 0 || size < 8192) {
    if (offset >= room) return Fail(ENOSPC);
    ++g_failures;
    return real(static_cast<size_t>(room - offset));
  }
  ++g_failures;
  return real(size / 2);
}

int OpenOnDisk(const char* path, int flags, mode_t mode) {
  if (IsInFolder(path)) {
    int error = 0;
    struct stat status;
    const bool makes = (flags & O_CREAT) != 0 && syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0;
    if (makes ? FailsToMake(&error) : FailsPlainly()) return Fail(makes ? error : g_fault.error);
  }
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (fd >= 0 && IsInFolder(path)) Note(fd, true);
  return fd;
}

}  // namespace

FaultyDisk::FaultyDisk(const std::string& folder, const DiskFault& fault) {
  g_folder = new std::string(folder + "/");
  g_fault = fault;
  g_calls = g_failures = 0;
  g_on = true;
}

FaultyDisk::~FaultyDisk() {
  g_on = false;
  for (std::atomic<bool>& open : g_open) open = false;
  delete g_folder;
}

int FaultyDisk::calls() const { return g_calls; }
int FaultyDisk::failures() const { return g_failures; }

}  // namespace ferret

// The C library's declarations have attributes that do not matter here.
#define FERRET_IN_FRONT extern "C" __attribute__((visibility("default")))

using ferret::Fail;
using ferret::FailsPlainly;
using ferret::FailsToMake;
using ferret::g_fault;
using ferret::IsInFolder;

FERRET_IN_FRONT int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return ferret::OpenOnDisk(path, flags, mode);
}

FERRET_IN_FRONT int close(int fd) {
  ferret::Note(fd, false);
  return static_cast<int>(syscall(SYS_close, fd));
}

FERRET_IN_FRONT ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return ferret::WriteOnDisk(fd, data, size, offset);
}

FERRET_IN_FRONT int ftruncate(int fd, off_t size) noexcept {
  if (IsInFolder(fd) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

FERRET_IN_FRONT int posix_fallocate(int fd, off_t offset, off_t size) {
  int error = 0;
  if (IsInFolder(fd) && FailsToMake(&error)) {
    Fail(error);
    return error;
  }
  return syscall(SYS_fallocate, fd, 0, offset, size) == 0 ? 0 : errno;
}

FERRET_IN_FRONT int fstat(int fd, struct stat* status) noexcept {
  if (IsInFolder(fd) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH));
}

// There is a struct of that name, which -Wshadow minds.
FERRET_IN_FRONT int LockOnDisk(int fd, int operation) noexcept __asm__("flock");
int LockOnDisk(int fd, int operation) noexcept {
  if (IsInFolder(fd) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_flock, fd, operation));
}

FERRET_IN_FRONT int rename(const char* from, const char* to) noexcept {
  if (IsInFolder(from) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

FERRET_IN_FRONT int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (IsInFolder(from) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

FERRET_IN_FRONT int unlink(const char* path) noexcept {
  if (IsInFolder(path) && FailsPlainly()) return Fail(g_fault.error);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
