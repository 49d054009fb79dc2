// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// NameTable: the process's names, each stored once under a 32-bit id. Bounded, append-only, loss-free: a definition
// never travels with the records, so losing records never loses a name.
//
//     index  [ 0: unused | 1: offset, length | 2: offset, length | … ]      65,536 entries
//     bytes  [ text of 1 | text of 2 | … ]                                  16 MiB
//
// Both arrays lie in one mapping that holds no pointers, so that it can be a file's. What does not fit is recorded inline and counted.
//
// Threads: Intern on any thread (a lock per shard of the hash); Text on any thread that got the id from Intern, or
// from a record that was published after its writer got it: the entry was complete before.

#ifndef FERRET_RUNTIME_RECORD_NAME_TABLE_H_
#define FERRET_RUNTIME_RECORD_NAME_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace ferret::internal {

class NameTable {
 public:
  static constexpr uint32_t kMaxNames = 65536;
  static constexpr uint32_t kMaxBytes = 16 * 1024 * 1024;

  struct Bounds {
    uint32_t names = kMaxNames;
    uint32_t bytes = kMaxBytes;
  };

  // The process's table: created on first use, never destroyed, since records and exporters refer to it until exit.
  static NameTable& Global();

  explicit NameTable(const Bounds& bounds);
  ~NameTable();
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  // The id of the name, from 1, or 0 when the table has no room for it.
  uint32_t Intern(std::string_view name);

  std::string_view Text(uint32_t id) const {
    const Entry& entry = index_[id];
    return {bytes_ + entry.offset, entry.length};
  }

  // How often Intern had to answer 0.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }

  // Moves the memory into a file that has so many bytes for it at `offset`, all zeros, mapped at `mapped` too: as many
  // names as fit survive the process then. Texts keep their addresses. False, with nothing changed, when it does not fit
  // or cannot be mapped.
  bool MoveInto(int file, uint64_t offset, char* mapped, uint64_t bytes);
  // Back into memory of its own.
  void MoveBack();
  // What MoveInto needs for `text_bytes` more of text.
  uint64_t BytesInFile(uint64_t text_bytes);
  char* memory() { return mapping_; }

  // In a forked child, with the locks held: the memory is the child's own, whatever it was in the parent.
  void ForgetFileInChild() {
    in_file_ = 0;
    limit_ = bounds_.bytes;
  }
  // In a child whose other threads may have held the locks.
  void RenewLocks();

  // Around fork: no other thread is inside the table when the child is made.
  void LockAll();
  void UnlockAll();

 private:
  struct Entry {
    uint32_t offset;
    uint32_t length;
  };
  static_assert(sizeof(Entry) == 8, "part of the mapped layout");

  struct Shard {
    std::mutex mutex;
    absl::flat_hash_map<std::string_view, uint32_t> ids;
  };
  static constexpr size_t kShards = 16;

  size_t index_bytes() const { return (size_t{bounds_.names} + 1) * sizeof(Entry); }

  const Bounds bounds_;
  char* mapping_;
  Entry* index_;
  char* bytes_;
  std::array<Shard, kShards> shards_;
  std::mutex append_;          // guards used_ and the tail of the arrays
  uint32_t used_ = 0;          // bytes
  uint32_t limit_;             // of used_
  uint64_t in_file_ = 0;       // how much of the mapping lies in a file
  std::atomic<uint32_t> size_{0};     // names; written under append_, relaxed readers only want a number
  std::atomic<uint64_t> refused_{0};  // relaxed: a statistic
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_NAME_TABLE_H_
