// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ChunkPool: the bounded memory that all chunks live in, and the two queues that carry them.
//
//     thread ──Announce──► open queue ──TakeAnnounced──► drain
//     thread ◄──TakeFree── free queue ◄────Recycle────── drain
//
// One region of address space, reserved at once, holds all chunks. A chunk that was never used is handed out when the
// free queue is empty, so that a quiet program touches few of them, and the drain thread pre-faults some ahead: the
// first touch of a page costs 5 to 20 us, which no recording thread should pay.
//
// Threads: TakeFree and Announce are called by recording threads on their cold path, everything else by the drain
// thread alone. Chunk traffic is a few thousand a second at the highest rates.

#ifndef FERRET_RUNTIME_RECORD_CHUNK_POOL_H_
#define FERRET_RUNTIME_RECORD_CHUNK_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "concurrentqueue/concurrentqueue.h"
#include "runtime/record/chunk.h"

namespace ferret::internal {

struct ChunkQueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  // Only token producers: an enqueue without a token, which would make a hidden producer per thread, does not compile
  // into anything useful (and asserts), instead of growing memory with every thread.
  static constexpr size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;
};
using ChunkQueue = moodycamel::ConcurrentQueue<Chunk*, ChunkQueueTraits>;

class ChunkPool {
 public:
  struct Config {
    uint32_t chunk_bytes = kDefaultChunkBytes;
    uint32_t chunks = 1024;      // handed out at most, unless growing
    uint32_t max_chunks = 1024;  // handed out at most when growing; >= chunks
    uint32_t max_threads = 4096;
  };

  // nullptr when the address space or the queues cannot be had.
  static std::unique_ptr<ChunkPool> Create(const Config& config);
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // A chunk whose owner is kOwnerFree, or nullptr. Acquires owner.
  Chunk* TakeFree() { return Take(config_.chunks); }
  // The same, up to max_chunks.
  Chunk* TakeFreeGrowing() { return Take(config_.max_chunks); }

  // False when the queue needs memory and there is none. It allocates only when a thread beyond the first few hundred
  // announces its first chunk, or one has more chunks waiting than ever before.
  bool Announce(moodycamel::ProducerToken& token, Chunk* chunk) {
    return open_.try_enqueue(token, chunk) || open_.enqueue(token, chunk);
  }
  ChunkQueue& open_queue() { return open_; }

  // Drain thread.
  size_t TakeAnnounced(Chunk** chunks, size_t max);
  void Recycle(Chunk* chunk);
  // Touches fresh chunks until `ready` of them or free ones can be handed out without a page fault.
  void Prefault(uint32_t ready);

  // Gives the memory back to the system while the address range stays valid: a thread that is late may still write
  // into the chunk it holds, which then reaches nobody.
  void Retire();

  // Between sessions. Moves the memory, at the addresses that it has, into the file of zeros that is mapped, shared, at
  // `mapped` for as long. Chunks that threads hold, or the drain, stay where they are until they are recycled: a thread
  // that is late may be in the middle of a record. False if something cannot be mapped; MoveBack is needed then, too.
  bool MoveInto(char* mapped);
  // Back into anonymous memory; what is held becomes a private copy of the file, which `file` is, from `offset` on. With −1
  // it goes on being in that.
  void MoveBack(int file, uint64_t offset);
  // Whether the chunk was held when the memory was moved the last time, and is not where that is.
  bool IsAway(uint32_t index) const { return index < away_.size() && away_[index]; }
  char* memory() { return region_; }
  size_t bytes() const { return size_t{config_.max_chunks} * config_.chunk_bytes; }

  // Changes whenever a chunk was recycled: a thread that found nothing need not look again before. Acquire, released by
  // Recycle: whoever sees the new count finds the chunk in the free queue.
  uint32_t recycled() const { return recycled_.load(std::memory_order_acquire); }
  // Fewer than a quarter of the chunks can be handed out. Approximate, any thread.
  bool RunningLow() const;
  uint32_t chunks_used() const;
  const Config& config() const { return config_; }
  Chunk* chunk_at(uint32_t index) const {
    return reinterpret_cast<Chunk*>(region_ + size_t{index} * config_.chunk_bytes);
  }

 private:
  ChunkPool(const Config& config, char* region);
  Chunk* Take(uint32_t limit);
  bool Move();
  // With memory of zeros, of the file if there is one.
  bool Replace(uint32_t first, uint32_t count);
  uint32_t IndexOf(const Chunk* chunk) const {
    return static_cast<uint32_t>(static_cast<size_t>(chunk->bytes() - region_) / config_.chunk_bytes);
  }

  const Config config_;
  char* const region_;
  ChunkQueue open_;
  ChunkQueue free_;
  moodycamel::ProducerToken free_token_;  // the drain's
  // Index of the next never-used chunk. Read-modify-write by any thread that finds the free queue empty; relaxed,
  // since a fresh chunk holds nothing that anybody wrote before.
  alignas(64) std::atomic<uint32_t> fresh_{0};
  std::atomic<uint32_t> recycled_{0};
  // Drain thread only, or between sessions.
  uint32_t prefaulted_ = 0;
  char* file_ = nullptr;
  std::vector<bool> away_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_CHUNK_POOL_H_
