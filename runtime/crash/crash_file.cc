// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/crash_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ferret/internal/record_format.h"
#include "runtime/crash/process_stamp.h"
#include "runtime/record/name_table.h"
#include "runtime/threads/background_thread.h"

namespace ferret::internal {
namespace {

// The file that is mapped now; a process has one at most. Written by whoever starts and stops sessions, one at a time,
// and read by a forked child.
std::atomic<CrashFile*> g_mapped{nullptr};

uint64_t UpToPages(uint64_t bytes) { return (bytes + kCrashPageBytes - 1) / kCrashPageBytes * kCrashPageBytes; }

// Offsets and sizes of the parts, with room for so many chunks. Returns the size of the file.
uint64_t LayOut(const CrashFile::Config& config, uint64_t chunks, CrashHeader::Part* parts) {
  const uint64_t bytes[kCrashParts] = {
      kCrashSessionBytes,
      sizeof(CrashClock),
      sizeof(CrashWindows),
      sizeof(CrashThread) * kCrashThreads,
      sizeof(CrashEntry) * kCrashEntries,
      sizeof(CarriedBlock) * kCarriedBlocks,
      sizeof(CrashOutput) * kCrashOutputs,
      config.name_bytes,
      chunks * config.chunk_bytes,
  };
  uint64_t offset = UpToPages(sizeof(CrashHeader));
  for (size_t i = 0; i < kCrashParts; ++i) {
    // The chunks' size is exact, as their number follows from it.
    const bool exact = i == static_cast<size_t>(CrashPart::kChunks);
    parts[i] = {offset, exact ? bytes[i] : UpToPages(bytes[i])};
    offset += UpToPages(bytes[i]);
  }
  return offset;
}

// How many chunks fit into what the file system has left, a sixteenth of which is left to others. All if it does not say.
// Never beyond the size that the process's files may have: the kernel would send a signal.
uint64_t ChunksThatFit(int fd, const CrashFile::Config& config) {
  CrashHeader::Part parts[kCrashParts];
  const uint64_t rest = LayOut(config, 0, parts);
  uint64_t free = UINT64_MAX;
  struct statvfs status;
  if (fstatvfs(fd, &status) == 0 && status.f_blocks != 0) free = uint64_t{status.f_bavail} * status.f_frsize / 16 * 15;
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    free = std::min<uint64_t>(free, limit.rlim_cur);
  }
  if (free <= rest) return 0;
  const uint64_t fitting = (free - rest) / config.chunk_bytes;
  if (fitting >= config.chunks) return config.chunks;
  // One of few sizes: a recorder is kept for each that there was.
  const uint64_t unit = std::max<uint64_t>(1, config.chunks / 8);
  return fitting < unit ? fitting : fitting / unit * unit;
}

// Some kernels give up, and all of the work with it, at every signal: a program's timer would keep them from ever ending.
int Allocate(int fd, uint64_t bytes) {
  const BlockSignalsForNewThread block;
  int error = 0;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

absl::Status ErrorOf(int error, const std::string& what) {
  if (error == EDQUOT) error = ENOSPC;
  if (error == ENOSPC) return absl::ResourceExhaustedError(absl::StrCat(what, ": ", strerror(error)));
  return absl::ErrnoToStatus(error, what);
}

bool Lock(int fd) {
  int result;
  do {
    result = flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The lock says that the writer lives, to RemoveUnpublished and to who recovers. It belongs to the open file, which the
// mappings hold too: it goes with the process's memory, also if the host closes the descriptor. Somebody may have looked
// just before it was taken. A file system without locks is good enough.
bool IsOurs(int fd) {
  if (!Lock(fd) && errno == EWOULDBLOCK) return false;
  struct stat status;
  return fstat(fd, &status) != 0 || status.st_nlink > 0;
}

// Creates a file of a name that no other one has, under its temporary name.
int CreateFile(const std::string& directory, std::string* path) {
  for (int n = 0;; ++n) {
    *path = absl::StrCat(directory, "/ferret-", getpid(), "-", n, ".crash");
    if (access(path->c_str(), F_OK) == 0) continue;
    const std::string temporary = *path + ".tmp";
    const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && IsOurs(fd)) {
      // A process of another container, with the same number, may have renamed its own since.
      if (access(path->c_str(), F_OK) != 0) return fd;
      unlink(temporary.c_str());
    }
    if (fd >= 0) {
      close(fd);
    } else if (errno != EEXIST) {
      return fd;
    }
  }
}

}  // namespace

CrashFile::CrashFile(int fd, std::string path, char* base, uint64_t bytes)
    : fd_(fd), path_(std::move(path)), base_(base), bytes_(bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

bool CrashFile::IsOfThisFile(int fd) const {
  struct stat status;
  return fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// What a child maps by the descriptor that it has from its parent would hold the parent's lock for as long as it lives.
int CrashFile::OpenAgain() const {
  char link[32];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd_);
  int fd = IsOfThisFile(fd_) ? open(link, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || IsOfThisFile(fd)) return fd;
  close(fd);
  return -1;
}

void CrashFile::RemoveUnpublished(const std::string& directory) {
  DIR* const entries = opendir(directory.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const absl::string_view name = entry->d_name;
    if (!absl::StartsWith(name, "ferret-") || !absl::EndsWith(name, ".crash.tmp")) continue;
    const int fd = openat(dirfd(entries), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) continue;
    if (Lock(fd)) unlinkat(dirfd(entries), entry->d_name, 0);
    close(fd);
  }
  closedir(entries);
}

absl::StatusOr<CrashFile*> CrashFile::Create(const Config& config) {
  // They take room that this one may need.
  RemoveUnpublished(config.directory);
  std::string path;
  const int fd = CreateFile(config.directory, &path);
  if (fd < 0) return ErrorOf(errno, absl::StrCat("cannot create a file in ", config.directory));
  const std::string temporary = path + ".tmp";
  const auto fail = [&](int error, const char* what) {
    unlink(temporary.c_str());
    close(fd);
    return ErrorOf(error, absl::StrCat("cannot ", what, " ", path));
  };

  CrashHeader::Part parts[kCrashParts];
  uint64_t bytes = 0;
  int error = ENOSPC;
  for (uint64_t chunks = ChunksThatFit(fd, config); chunks >= config.min_chunks && chunks > 0; chunks /= 2) {
    bytes = LayOut(config, chunks, parts);
    error = Allocate(fd, bytes);
    if (error != ENOSPC && error != EDQUOT) break;
  }
  if (error != 0) return fail(error, "allocate the blocks of");
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return fail(errno, "map");

  // The blocks are zeros: no thread, no batch, no chunk is in use.
  auto* const header = new (base) CrashHeader{};
  std::memcpy(header->magic, kCrashMagic, sizeof(kCrashMagic));
  header->version = kCrashVersion;
  header->byte_order = kCrashByteOrder;
  header->page_bytes = kCrashPageBytes;
  header->header_bytes = sizeof(CrashHeader);
  header->file_bytes = bytes;
  const ProcessStamp stamp = OwnProcessStamp();
  header->pid = stamp.pid;
  header->record_version = kRecordFormatVersion;
  header->start_time = stamp.start_time;
  std::memcpy(header->boot_id, stamp.boot_id.data(), std::min(stamp.boot_id.size(), sizeof(header->boot_id) - 1));
  std::copy(std::begin(parts), std::end(parts), header->parts);
  header->chunk_bytes = config.chunk_bytes;
  header->name_entries = NameTable::kMaxNames + 1;
  header->first_epoch = UINT32_MAX;  // no chunk counts before the session has begun
  header->outputs = std::min(config.outputs, kCrashOutputs);
  auto* const file = new CrashFile(fd, path, static_cast<char*>(base), bytes);
  static auto* const all = new std::vector<CrashFile*>;  // where leak checkers find it
  all->push_back(file);
  g_mapped.store(file, std::memory_order_release);
  return file;
}

void CrashFile::SetSession(std::string_view text) {
  char* const at = part(CrashPart::kSession);
  const uint32_t size = static_cast<uint32_t>(std::min<uint64_t>(text.size(), kCrashSessionBytes - sizeof(uint32_t)));
  std::memcpy(at + sizeof(size), text.data(), size);
  std::memcpy(at, &size, sizeof(size));
}

absl::Status CrashFile::TakeNamesAndChunks(ChunkPool* pool) {
  const CrashHeader::Part& names = header().parts[static_cast<size_t>(CrashPart::kNames)];
  if (!NameTable::Global().MoveInto(fd_, names.offset, base_ + names.offset, names.bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot move the names into ", path_));
  }
  has_names_ = true;
  const CrashHeader::Part& chunks = header().parts[static_cast<size_t>(CrashPart::kChunks)];
  if (pool->bytes() == chunks.bytes) {
    pool_ = pool;
    if (pool->MoveInto(base_ + chunks.offset)) return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("cannot move the chunks into ", path_));
}

absl::Status CrashFile::Publish() {
  const std::string temporary = path_ + ".tmp";
  if (rename(temporary.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  return ErrorOf(errno, absl::StrCat("cannot rename ", temporary));
}

uint64_t CrashFile::OutputBatch(uint32_t output) {
  const CrashOutput& entry = reinterpret_cast<const CrashOutput*>(part(CrashPart::kOutputs))[output];
  uint64_t current = entry.current.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t batch = entry.versions[current & 1].batch.load(std::memory_order_acquire);
    // A version is written while the other one is current. What is not current yet must not be believed: a kill would
    // leave the other one.
    const uint64_t then = entry.current.load(std::memory_order_acquire);
    if (then == current) return batch;
    current = then;
  }
}

void CrashFile::SetOutput(uint32_t output, const Output& state) {
  CrashOutput& entry = reinterpret_cast<CrashOutput*>(part(CrashPart::kOutputs))[output];
  const uint64_t next = entry.current.load(std::memory_order_relaxed) + 1;
  CrashOutput::Version& version = entry.versions[next & 1];
  version.batch.store(state.batch, std::memory_order_release);
  version.bytes = state.bytes;
  version.events = state.events;
  // A path that is too long could name another file.
  const bool fits = state.path.size() < kCrashPathBytes && state.final_path.size() < kCrashPathBytes;
  std::memset(version.path, 0, sizeof(version.path));
  std::memset(version.final_path, 0, sizeof(version.final_path));
  if (fits) {
    std::memcpy(version.path, state.path.data(), state.path.size());
    std::memcpy(version.final_path, state.final_path.data(), state.final_path.size());
  }
  entry.current.store(next, std::memory_order_release);
}

void CrashFile::SetLosses(const LossCounts& lost) {
  for (size_t i = 0; i < kLossReasonCount; ++i) {
    header().lost[i].store(lost.by_reason[i], std::memory_order_relaxed);
  }
}

void CrashFile::Remove(bool keep) {
  if (removed_) return;
  removed_ = true;
  if (has_names_) NameTable::Global().MoveBack();
  if (pool_ != nullptr) {
    const int fd = OpenAgain();
    pool_->MoveBack(fd, header().parts[static_cast<size_t>(CrashPart::kChunks)].offset);
    if (fd >= 0) close(fd);
  }
  if (!keep) {
    unlink(path_.c_str());
    unlink((path_ + ".tmp").c_str());
    GiveBlocksBack();
  }
  // Empty memory at the same addresses: what abandoned exporters still say goes nowhere. The header stays readable, for
  // those who look for a part.
  const CrashHeader::Part* const parts = header().parts;
  const uint64_t kept = parts[0].offset;
  char page[kCrashPageBytes];
  std::memcpy(page, base_, sizeof(CrashHeader));
  mmap(base_ + kept, bytes_ - kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  void* const fresh = mmap(nullptr, kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh != MAP_FAILED) {
    std::memcpy(fresh, page, sizeof(CrashHeader));
    mremap(fresh, kept, kept, MREMAP_MAYMOVE | MREMAP_FIXED, base_);
  }
  g_mapped.store(nullptr, std::memory_order_release);
  if (!IsOfThisFile(fd_)) return;
  flock(fd_, LOCK_UN);  // which chunks that are held may go on holding
  close(fd_);
}

// Chunks that are held keep the file, which may be until the next session. Its names are kept, too: children that were
// forked meanwhile have them from there.
void CrashFile::GiveBlocksBack() {
  const auto give = [this](uint64_t from, uint64_t to) {
    // Some file systems cannot: they have them back with the file.
    if (from < to) madvise(base_ + from, to - from, MADV_REMOVE);
  };
  const CrashHeader::Part* const parts = header().parts;
  const CrashHeader::Part& chunks = parts[static_cast<size_t>(CrashPart::kChunks)];
  give(parts[0].offset, parts[static_cast<size_t>(CrashPart::kNames)].offset);
  uint64_t from = chunks.offset;
  for (uint32_t i = 0; pool_ != nullptr && i < pool_->config().max_chunks; ++i) {
    if (!pool_->IsAway(i)) continue;
    const uint64_t held = chunks.offset + uint64_t{i} * header().chunk_bytes;
    give(from, held);
    from = held + header().chunk_bytes;
  }
  give(from, bytes_);
}

bool CrashFile::AfterForkInChild() {
  CrashFile* const file = g_mapped.load(std::memory_order_acquire);
  if (file == nullptr) return true;
  // Copied when written to, so the parent's file stays the parent's.
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  const CrashHeader::Part names = file->header().parts[static_cast<size_t>(CrashPart::kNames)];
  const int fd = file->OpenAgain();
  const bool known = fd >= 0;
  const int flags = MAP_PRIVATE | MAP_FIXED | (known ? 0 : MAP_ANONYMOUS | MAP_NORESERVE);
  bool own = true;
  const auto map = [&](char* at, uint64_t size, uint64_t offset) {
    own = mmap(at, size, kProtection, flags, fd, known ? static_cast<off_t>(offset) : 0) != MAP_FAILED && own;
  };
  if (file->has_names_ && known) {
    map(NameTable::Global().memory(), names.bytes, names.offset);
  } else if (file->has_names_) {
    // The child may record, under names that it has from its parent.
    void* const copy = mmap(nullptr, names.bytes, kProtection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    own = copy != MAP_FAILED;
    if (own) {
      char* const at = NameTable::Global().memory();
      std::memcpy(copy, at, names.bytes);
      own = mremap(copy, names.bytes, names.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
    }
  }
  if (file->pool_ != nullptr) {
    const CrashHeader::Part chunks = file->header().parts[static_cast<size_t>(CrashPart::kChunks)];
    map(file->pool_->memory(), chunks.bytes, chunks.offset);
  }
  map(file->base_, file->bytes_, 0);
  if (known) close(fd);
  if (file->IsOfThisFile(file->fd_)) close(file->fd_);
  g_mapped.store(nullptr, std::memory_order_relaxed);
  return own;
}

}  // namespace ferret::internal
