// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashFile: makes a process's crash file (crash_layout.h), maps it, and takes it away again.
//
//   Create ─► <dir>/ferret-<pid>-<n>.crash.tmp, all of its blocks allocated ─► the session fills in who it is
//   Publish ─► <dir>/ferret-<pid>-<n>.crash: a file of that name is a valid one
//   Remove  ─► the file is gone; names and chunks are in memory of the process again, at the same addresses; chunks that
//              threads hold are private copies of it, and its blocks are given back with the last one
//
// Blocks are allocated at once, so that a full file system is an error here and not a SIGBUS in a recording thread. A
// forked child gets a private copy of the pages before anything of it runs that could write to them.
//
// Never freed: an exporter that was abandoned may still say how far it is.

#ifndef FERRET_RUNTIME_CRASH_CRASH_FILE_H_
#define FERRET_RUNTIME_CRASH_CRASH_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ferret/loss.h"
#include "runtime/crash/crash_layout.h"
#include "runtime/record/chunk_pool.h"

namespace ferret::internal {

class CrashFile {
 public:
  struct Config {
    std::string directory;
    uint32_t chunk_bytes = 0;
    uint64_t chunks = 0;      // wanted
    uint64_t min_chunks = 0;  // fewer are no use
    uint64_t name_bytes = 0;  // that the name table needs room for
    uint32_t outputs = 0;
  };

  // Owned by nobody. An error says why there is no such file: no space (ResourceExhausted), no permission, ….
  static absl::StatusOr<CrashFile*> Create(const Config& config);

  // Removes the files of processes that were killed before they had published them: nothing is in those. Each file, before
  // and after it is published, has a lock on it (flock) for as long as its writer lives, which also holds between
  // containers that share the folder.
  static void RemoveUnpublished(const std::string& directory);

  CrashFile(const CrashFile&) = delete;
  CrashFile& operator=(const CrashFile&) = delete;

  CrashHeader& header() { return *reinterpret_cast<CrashHeader*>(base_); }
  char* part(CrashPart which) { return base_ + header().parts[static_cast<size_t>(which)].offset; }
  uint64_t part_bytes(CrashPart which) { return header().parts[static_cast<size_t>(which)].bytes; }
  uint64_t chunks() { return part_bytes(CrashPart::kChunks) / header().chunk_bytes; }
  uint32_t chunk_bytes() { return header().chunk_bytes; }

  // Before Publish: see crash_session.h.
  void SetSession(std::string_view text);

  // Moves the process's name table and that pool's chunks into the file, until it is removed. The pool is as large as the
  // file has room for, and is kept for as long as the process lives.
  absl::Status TakeNamesAndChunks(ChunkPool* pool);

  absl::Status Publish();

  // How far the output of an exporter is durable, as in CrashOutput.
  struct Output {
    uint64_t batch = 0;
    uint64_t bytes = 0;
    uint64_t events = 0;
    std::string path;
    std::string final_path;
  };
  // One thread at a time for each output.
  void SetOutput(uint32_t output, const Output& state);
  // What recording has lost so far. Any thread.
  void SetLosses(const LossCounts& lost);
  // The batch of the latest call.
  uint64_t OutputBatch(uint32_t output);

  // The session is over. With `keep` the file stays where it is, as it is.
  void Remove(bool keep);

  const std::string& path() const { return path_; }

  // In a forked child: what it has of its parent's files becomes its own memory, and nothing of the parent's lock stays.
  // False when there is no memory for that: the child may record nothing. Safe after fork.
  static bool AfterForkInChild();

 private:
  CrashFile(int fd, std::string path, char* base, uint64_t bytes);
  // A host may have closed a descriptor, and its number may be another file's.
  bool IsOfThisFile(int fd) const;
  // Another descriptor, for reading. −1 if it cannot be opened any more.
  int OpenAgain() const;
  void GiveBlocksBack();

  const int fd_;
  std::string path_;
  char* const base_;
  const uint64_t bytes_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  bool has_names_ = false;
  ChunkPool* pool_ = nullptr;
  bool removed_ = false;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_FILE_H_
