// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/name_table.h"

#include <sys/mman.h>

#include <cstring>

#include "absl/hash/hash.h"

namespace ferret::internal {

NameTable& NameTable::Global() {
  static NameTable* table = new NameTable(Bounds{});
  return *table;
}

NameTable::NameTable(const Bounds& bounds) : bounds_(bounds) {
  const size_t index_bytes = (size_t{bounds.names} + 1) * sizeof(Entry);
  void* mapping = mmap(nullptr, index_bytes + bounds.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Without the mapping every name is recorded inline: slower, complete.
  mapping_ = mapping == MAP_FAILED ? nullptr : static_cast<char*>(mapping);
  index_ = reinterpret_cast<Entry*>(mapping_);
  bytes_ = mapping_ == nullptr ? nullptr : mapping_ + index_bytes;
}

NameTable::~NameTable() {
  if (mapping_ != nullptr) munmap(mapping_, (size_t{bounds_.names} + 1) * sizeof(Entry) + bounds_.bytes);
}

uint32_t NameTable::Intern(std::string_view name) {
  Shard& shard = shards_[absl::Hash<std::string_view>()(name) >> 7 & (kShards - 1)];
  std::lock_guard<std::mutex> shard_lock(shard.mutex);
  if (auto it = shard.ids.find(name); it != shard.ids.end()) return it->second;

  uint32_t id = 0;
  if (size_.load(std::memory_order_relaxed) < bounds_.names) {
    std::lock_guard<std::mutex> lock(append_);
    const uint32_t count = size_.load(std::memory_order_relaxed);
    if (mapping_ != nullptr && count < bounds_.names && name.size() <= bounds_.bytes - used_) {
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

void NameTable::LockAll() {
  for (Shard& shard : shards_) shard.mutex.lock();
  append_.lock();
}

void NameTable::UnlockAll() {
  append_.unlock();
  for (size_t i = kShards; i-- > 0;) shards_[i].mutex.unlock();
}

}  // namespace ferret::internal
