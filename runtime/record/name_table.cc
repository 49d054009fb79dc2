// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/name_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/hash/hash.h"

namespace ferret::internal {

NameTable& NameTable::Global() {
  static NameTable* table = new NameTable(Bounds{});
  return *table;
}

NameTable::NameTable(const Bounds& bounds) : bounds_(bounds), limit_(bounds.bytes) {
  void* mapping = mmap(nullptr, index_bytes() + bounds.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Without the mapping every name is recorded inline: slower, complete.
  mapping_ = mapping == MAP_FAILED ? nullptr : static_cast<char*>(mapping);
  index_ = reinterpret_cast<Entry*>(mapping_);
  bytes_ = mapping_ == nullptr ? nullptr : mapping_ + index_bytes();
}

NameTable::~NameTable() {
  if (mapping_ != nullptr) munmap(mapping_, index_bytes() + bounds_.bytes);
}

uint32_t NameTable::Intern(std::string_view name) {
  Shard& shard = shards_[absl::Hash<std::string_view>()(name) >> 7 & (kShards - 1)];
  std::lock_guard<std::mutex> shard_lock(shard.mutex);
  if (auto it = shard.ids.find(name); it != shard.ids.end()) return it->second;

  uint32_t id = 0;
  if (size_.load(std::memory_order_relaxed) < bounds_.names) {
    std::lock_guard<std::mutex> lock(append_);
    const uint32_t count = size_.load(std::memory_order_relaxed);
    if (mapping_ != nullptr && count < bounds_.names && name.size() <= limit_ - used_) {
      id = count + 1;
      std::memcpy(bytes_ + used_, name.data(), name.size());
      index_[id] = {used_, static_cast<uint32_t>(name.size())};
      used_ += static_cast<uint32_t>(name.size());
      size_.store(id, std::memory_order_relaxed);
    }
  }
  if (id == 0) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  shard.ids.emplace(Text(id), id);
  return id;
}

uint64_t NameTable::BytesInFile(uint64_t text_bytes) {
  std::lock_guard<std::mutex> lock(append_);
  return index_bytes() + std::min<uint64_t>(bounds_.bytes, used_ + text_bytes);
}

// Readers go on meanwhile: they find the same bytes at the same addresses, before and after.
bool NameTable::MoveInto(int file, uint64_t offset, char* mapped, uint64_t bytes) {
  LockAll();
  bytes = std::min<uint64_t>(bytes, index_bytes() + bounds_.bytes);
  bool done = false;
  if (mapping_ != nullptr && bytes >= index_bytes() + used_) {
    std::memcpy(mapped, mapping_, index_bytes() + used_);
    done = mmap(mapping_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset)) !=
           MAP_FAILED;
  }
  if (done) {
    limit_ = static_cast<uint32_t>(bytes - index_bytes());
    in_file_ = bytes;
  }
  UnlockAll();
  return done;
}

void NameTable::MoveBack() {
  LockAll();
  if (in_file_ != 0) {
    void* const memory =
        mmap(nullptr, in_file_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    // Without memory the names stay where they are, in a file that may have no name any more.
    if (memory != MAP_FAILED) {
      std::memcpy(memory, mapping_, index_bytes() + used_);
      if (mremap(memory, in_file_, in_file_, MREMAP_MAYMOVE | MREMAP_FIXED, mapping_) != MAP_FAILED) {
        in_file_ = 0;
        limit_ = bounds_.bytes;
      }
    }
  }
  UnlockAll();
}

void NameTable::RenewLocks() {
  for (Shard& shard : shards_) new (&shard.mutex) std::mutex;
  new (&append_) std::mutex;
}

void NameTable::LockAll() {
  for (Shard& shard : shards_) shard.mutex.lock();
  append_.lock();
}

void NameTable::UnlockAll() {
  append_.unlock();
  for (size_t i = kShards; i-- > 0;) shards_[i].mutex.unlock();
}

}  // namespace ferret::internal
