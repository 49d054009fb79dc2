// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/crash_snapshot.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

namespace ferret::internal {
namespace {

// What changes all the time is given up on after so many looks.
constexpr int kMaxLooks = 64;

// What was loaded before it is no newer than what is loaded afterwards. The bytes are another process's, plain ones among
// them, and may stand at any address in a file that is damaged: no atomic object is there to be loaded from.
void KeepOrder() { __sync_synchronize(); }

template <typename Type>
Type Load(std::string_view bytes, uint64_t offset) {
  Type value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Tells a chunk from every other one that is, was or will be at its place: numbers of threads, and of a thread's chunks,
// are not used twice.
struct Identity {
  uint32_t owner, thread, sequence, recycles;

  bool operator==(const Identity& other) const {
    return owner == other.owner && thread == other.thread && sequence == other.sequence && recycles == other.recycles;
  }
};

Identity IdentityAt(std::string_view chunks, uint64_t place) {
  Identity identity;
  identity.owner = Load<uint32_t>(chunks, place + offsetof(Chunk, owner));
  KeepOrder();
  identity.thread = Load<uint32_t>(chunks, place + offsetof(Chunk, thread));
  identity.sequence = Load<uint32_t>(chunks, place + offsetof(Chunk, sequence));
  identity.recycles = Load<uint32_t>(chunks, place + offsetof(Chunk, recycles));
  return identity;
}

Identity IdentityOf(const Chunk& copy) {
  return {copy.owner.load(std::memory_order_relaxed), copy.thread, copy.sequence, copy.recycles};
}

// False if it is free, or was recycled meanwhile.
bool CopyChunk(std::string_view chunks, uint64_t place, uint32_t chunk_bytes, ChunkCopy* copy) {
  const Identity identity = IdentityAt(chunks, place);
  if (identity.owner == kOwnerFree) return false;
  // Sealed first, as the drain does: what is loaded then is final.
  const uint32_t sealed = Load<uint32_t>(chunks, place + offsetof(Chunk, sealed));
  KeepOrder();
  const uint32_t end = Load<uint32_t>(chunks, place + offsetof(Chunk, write_offset));
  KeepOrder();
  MakeCopyRoom(chunk_bytes, copy);
  copy->place = place;
  std::memcpy(static_cast<void*>(copy->chunk), chunks.data() + place, std::clamp(end, kChunkHeaderBytes, chunk_bytes));
  KeepOrder();
  // Those that were copied may be newer than what was copied behind them.
  copy->chunk->sealed.store(sealed, std::memory_order_relaxed);
  copy->chunk->write_offset.store(end, std::memory_order_relaxed);
  return IdentityAt(chunks, place) == identity;
}

// Whether the entry had the same thread and carried scopes before as after they were read.
bool ReadThread(std::string_view threads, std::string_view carried, uint64_t place, ThreadCopy* copy) {
  *copy = ThreadCopy();
  copy->thread = Load<uint32_t>(threads, place + offsetof(CrashThread, thread));
  if (copy->thread == 0) return true;
  KeepOrder();
  const uint32_t first = Load<uint32_t>(threads, place + offsetof(CrashThread, carried));
  KeepOrder();
  copy->os_tid = Load<int32_t>(threads, place + offsetof(CrashThread, os_tid));
  copy->position = Load<uint64_t>(threads, place + offsetof(CrashThread, position));
  copy->not_carried = Load<uint32_t>(threads, place + offsetof(CrashThread, not_carried));
  std::memcpy(copy->name, threads.data() + place + offsetof(CrashThread, name), sizeof(copy->name));
  // Blocks of a damaged file may name each other in a circle.
  const uint64_t blocks = carried.size() / sizeof(CarriedBlock);
  std::vector<bool> seen(first == 0 ? 0 : blocks + 1);
  for (uint32_t number = first; number != 0 && number <= blocks && !seen[number];) {
    seen[number] = true;
    copy->carried.push_back(Load<CarriedBlock>(carried, (number - 1) * sizeof(CarriedBlock)));
    const CarriedBlock& block = copy->carried.back();
    if (block.thread != copy->thread || block.after_sequence != copy->carried.front().after_sequence) {
      copy->carried.pop_back();
      break;
    }
    number = block.next;
  }
  KeepOrder();
  return Load<uint32_t>(threads, place + offsetof(CrashThread, carried)) == first &&
         Load<uint32_t>(threads, place + offsetof(CrashThread, thread)) == copy->thread;
}

bool SameCarried(const ThreadCopy& a, const ThreadCopy& b) {
  return a.thread == b.thread && a.carried.size() == b.carried.size() &&
         (a.carried.empty() ||
          std::memcmp(a.carried.data(), b.carried.data(), a.carried.size() * sizeof(CarriedBlock)) == 0);
}

}  // namespace

void MakeCopyRoom(uint32_t chunk_bytes, ChunkCopy* copy) {
  constexpr size_t kAlignment = alignof(Chunk);
  copy->memory.reset(new char[chunk_bytes + kAlignment]);
  void* memory = copy->memory.get();
  size_t space = chunk_bytes + kAlignment;
  copy->chunk = static_cast<Chunk*>(std::align(kAlignment, chunk_bytes, memory, space));
}

std::vector<ChunkCopy> CopyChunks(std::string_view chunks, uint32_t chunk_bytes) {
  std::vector<ChunkCopy> copies;
  std::map<uint32_t, uint32_t> newest;  // sequence, by thread
  std::map<uint64_t, size_t> at;        // index of the copy, by place
  for (uint64_t place = 0; place + chunk_bytes <= chunks.size(); place += chunk_bytes) {
    ChunkCopy copy;
    if (!CopyChunk(chunks, place, chunk_bytes, &copy)) continue;
    uint32_t& sequence = newest[copy.chunk->thread];
    sequence = std::max(sequence, copy.chunk->sequence);
    at[place] = copies.size();
    copies.push_back(std::move(copy));
  }
  // A chunk may have been opened at a place that was looked at already, or have got more records, before the thread opened
  // the next one at a place that was not. What is there of such chunks now is final. One that is gone is not still there.
  for (uint64_t place = 0; place + chunk_bytes <= chunks.size(); place += chunk_bytes) {
    const Identity identity = IdentityAt(chunks, place);
    const auto known = newest.find(identity.thread);
    if (identity.owner == kOwnerFree || known == newest.end() || identity.sequence >= known->second) continue;
    const auto first = at.find(place);
    const bool is_same = first != at.end() && IdentityOf(*copies[first->second].chunk) == identity;
    if (is_same && copies[first->second].chunk->sealed.load(std::memory_order_relaxed) != 0) continue;
    ChunkCopy copy;
    if (!CopyChunk(chunks, place, chunk_bytes, &copy) || !(IdentityOf(*copy.chunk) == identity)) continue;
    if (is_same) {
      copies[first->second] = std::move(copy);
    } else {
      copies.push_back(std::move(copy));
    }
  }
  return copies;
}

bool IsStillThere(std::string_view chunks, const ChunkCopy& copy) {
  KeepOrder();
  const bool is_there = IdentityAt(chunks, copy.place) == IdentityOf(*copy.chunk);
  KeepOrder();
  return is_there;
}

bool CopyThread(std::string_view threads, std::string_view carried, uint64_t place, ThreadCopy* copy) {
  // Blocks that were freed are written again, by which time the entry may name the same first one. But it does not name
  // one while that is written: of two equal readings none was in the middle of it.
  for (int look = 0; look < kMaxLooks; ++look) {
    ThreadCopy second;
    if (ReadThread(threads, carried, place, copy) && ReadThread(threads, carried, place, &second) &&
        SameCarried(*copy, second)) {
      return true;
    }
  }
  return false;
}

}  // namespace ferret::internal
