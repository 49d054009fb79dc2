// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/file_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/document_head.h"
#include "runtime/export/file/output_path.h"

namespace ferret {
namespace {

constexpr int kMostNames = 1000;  // "-<pid>-2" and so on; far more than exporters in a process
// How often a file may change under its name while it is being claimed. A few processes that end just now may do that, and
// so does a file system that cannot say what is there.
constexpr int kMostChanges = 100;

// Descriptors that a forked child must not keep: a child that outlives this process would hold the lock on. Written by
// Take and the destructor, read by the fork handler on the thread that forks; each slot is independent, so relaxed.
constexpr int kMostClaims = 64;
// The owner's pid and the descriptor; 0 = free. The pid, since a fork handler that came earlier may have started a session
// in the child, and what that one has claimed stays open.
std::atomic<uint64_t> claimed_fds[kMostClaims];

uint64_t Claimed(int fd) { return static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(fd); }

void CloseInChild() {
  const uint64_t own = Claimed(0) >> 32;
  for (std::atomic<uint64_t>& slot : claimed_fds) {
    const uint64_t value = slot.load(std::memory_order_relaxed);
    if (value == 0 || value >> 32 == own) continue;
    slot.store(0, std::memory_order_relaxed);
    close(static_cast<int>(value & UINT32_MAX));
  }
}

// When the library is loaded: an exporter's thread could wait for a fork in the middle of it, and the child then for a
// thread that it does not have.
[[gnu::constructor]] void RegisterForkHandler() { pthread_atfork(nullptr, nullptr, CloseInChild); }

void RememberForFork(int fd) {
  for (std::atomic<uint64_t>& slot : claimed_fds) {
    uint64_t free_value = 0;
    if (slot.compare_exchange_strong(free_value, Claimed(fd), std::memory_order_relaxed)) return;
  }
}

void ForgetForFork(int fd) {
  for (std::atomic<uint64_t>& slot : claimed_fds) {
    uint64_t value = Claimed(fd);
    if (slot.compare_exchange_strong(value, 0, std::memory_order_relaxed)) return;
  }
}

void Release(int fd) {
  ForgetForFork(fd);
  close(fd);
}

void MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0777);  // whatever fails here fails again, with a message, in open
  }
}

// renameat2(RENAME_NOREPLACE) is not offered by every file system; link does the same everywhere but on FAT.
int RenameIfFree(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (link(from.c_str(), to.c_str()) != 0) return -1;
  return unlink(from.c_str());
}

// wanted, wanted-<pid>, wanted-<pid>-2, …
std::string Candidate(const std::string& wanted, int64_t pid, int attempt) {
  if (attempt == 0) return wanted;
  if (attempt == 1) return InsertBeforeExtension(wanted, absl::StrCat("-", pid));
  return InsertBeforeExtension(wanted, absl::StrCat("-", pid, "-", attempt));
}

// The file of a process that died. Keeps what it recorded under a name that says whose it is.
absl::Status SetAside(const std::string& temporary, const std::string& path, const DiagnosticFn& diagnostic) {
  const int64_t pid = ReadDocumentHead(temporary).pid;  // 0 for a file that is none of Ferret's
  for (int attempt = 1; attempt < kMostNames; ++attempt) {
    const std::string aside = Candidate(path, pid, attempt);
    if (RenameIfFree(temporary, aside) == 0) {
      if (diagnostic) {
        const std::string who = pid != 0 ? absl::StrCat("process ", pid) : "a process";
        diagnostic(absl::StrCat(who, " died while it wrote ", path, "; what it recorded is in ", aside));
      }
      return absl::OkStatus();
    }
    if (errno != EEXIST) return FileError(errno, absl::StrCat("cannot rename ", temporary, " to ", aside));
  }
  return absl::AlreadyExistsError(absl::StrCat("no free name to keep ", temporary, " under"));
}

// Whether fd is still what `name` names: between open and flock its writer may have published it.
bool StillNamed(int fd, const std::string& name, struct stat* at_fd) {
  struct stat at_name;
  return fstat(fd, at_fd) == 0 && stat(name.c_str(), &at_name) == 0 && at_name.st_ino == at_fd->st_ino &&
         at_name.st_dev == at_fd->st_dev;
}

// The opposite, but not if the system cannot say.
bool IsGone(int fd, const std::string& name) {
  struct stat at_fd, at_name;
  if (fstat(fd, &at_fd) != 0) return false;
  if (stat(name.c_str(), &at_name) != 0) return errno == ENOENT || errno == ENOTDIR;
  return at_name.st_ino != at_fd.st_ino || at_name.st_dev != at_fd.st_dev;
}

int OpenForWriting(const std::string& name, int more_flags) {
  return open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more_flags, 0666);
}

enum class Lock { kTaken, kHeldByOther };

Lock TakeLock(int fd, bool created) {
  int result;
  do {
    result = flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Lock::kTaken;
  if (errno == EWOULDBLOCK) return Lock::kHeldByOther;
  // A file system without locks. Having created the file is then the only proof that nobody else writes it.
  return created ? Lock::kTaken : Lock::kHeldByOther;
}

}  // namespace

absl::Status FileError(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return absl::ResourceExhaustedError(message);
    case ENOENT:
    case ENOTDIR: return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS: return absl::PermissionDeniedError(message);
    case EEXIST: return absl::AlreadyExistsError(message);
    default: return absl::UnavailableError(message);
  }
}

absl::StatusOr<std::unique_ptr<FileClaim>> FileClaim::Take(const std::string& path, const DiagnosticFn& diagnostic) {
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    const std::string name = Candidate(path, getpid(), attempt);
    const std::string temporary = name + ".tmp";
    for (int changes = 0;; ++changes) {
      if (changes == kMostChanges) return absl::UnavailableError(absl::StrCat("cannot tell whose ", temporary, " is"));
      int fd = OpenForWriting(temporary, O_EXCL);
      const bool created = fd >= 0;
      if (!created && errno == EEXIST) fd = OpenForWriting(temporary, 0);
      if (fd < 0 && errno == ENOENT && access(temporary.substr(0, temporary.rfind('/') + 1).c_str(), F_OK) != 0) {
        MakeParents(temporary);
        fd = OpenForWriting(temporary, 0);
      }
      if (fd < 0) return FileError(errno, absl::StrCat("cannot create ", temporary));
      // Before it is locked. Of a child that is forked just before this, or in the middle of Release, the lock is the
      // child's too, until it has ended or executes a program.
      RememberForFork(fd);
      if (TakeLock(fd, created) == Lock::kHeldByOther) {
        Release(fd);
        break;
      }
      struct stat status;
      if (!StillNamed(fd, temporary, &status)) {
        Release(fd);
        continue;
      }
      if (!S_ISREG(status.st_mode)) {
        Release(fd);
        return absl::FailedPreconditionError(absl::StrCat(temporary, " exists and is not a regular file"));
      }
      if (status.st_size == 0) return std::unique_ptr<FileClaim>(new FileClaim(fd, name, path));
      const absl::Status aside = SetAside(temporary, name, diagnostic);
      Release(fd);
      if (!aside.ok()) return aside;
    }
  }
  return absl::AlreadyExistsError(absl::StrCat("no free name for ", path));
}

FileClaim::FileClaim(int fd, std::string path, std::string wanted)
    : fd_(fd), path_(std::move(path)), wanted_(std::move(wanted)), owner_(getpid()) {}

FileClaim::~FileClaim() {
  if (!IsOwner()) return;  // the descriptor was closed as the child started; its number may be another file's by now
  ForgetForFork(fd_);
  // Before the lock is gone: whoever finds the name free may take it.
  const std::string temporary = path_ + ".tmp";
  struct stat status;
  if (!published_ && StillNamed(fd_, temporary, &status) && status.st_size == 0) unlink(temporary.c_str());
  close(fd_);
}

bool FileClaim::IsOwner() const { return getpid() == owner_; }

absl::Status FileClaim::Publish(const std::string& run_id) {
  if (!IsOwner()) return absl::FailedPreconditionError("a forked child does not write its parent's file");
  if (published_) return absl::OkStatus();
  const std::string temporary = path_ + ".tmp";
  if (IsGone(fd_, temporary)) {
    return absl::NotFoundError(absl::StrCat(temporary, " was moved or removed by somebody else"));
  }
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    // path_ first: it may have a pid in it already.
    const std::string name = attempt == 0 ? path_ : Candidate(wanted_, owner_, attempt);
    if (RenameIfFree(temporary, name) != 0) {
      if (errno != EEXIST) return FileError(errno, absl::StrCat("cannot rename ", temporary, " to ", name));
      // Only a process that holds the lock on name.tmp may replace name.
      const bool ours_to_replace = attempt == 0 && ReadDocumentHead(name).run_id != run_id;
      if (!ours_to_replace) continue;
      if (rename(temporary.c_str(), name.c_str()) != 0) {
        return FileError(errno, absl::StrCat("cannot rename ", temporary, " to ", name));
      }
    }
    path_ = name;
    published_ = true;
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat("no free name for ", wanted_));
}

}  // namespace ferret
