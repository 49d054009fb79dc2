// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/chunk_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <new>

namespace ferret::internal {
namespace {

// The queue's own worst case, every chunk waiting in the blocks of every thread in turn, takes more memory than the
// chunks. This is room for every chunk once, and for a full and a half-read block of each of the first threads.
size_t OpenQueueCapacity(const ChunkPool::Config& config) {
  constexpr size_t kThreadsWithBlocks = 256;
  return config.max_chunks + 2 * ChunkQueue::BLOCK_SIZE * std::min<size_t>(config.max_threads, kThreadsWithBlocks);
}

}  // namespace

std::unique_ptr<ChunkPool> ChunkPool::Create(const Config& config) {
  const size_t bytes = size_t{config.max_chunks} * config.chunk_bytes;
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return nullptr;
  return std::unique_ptr<ChunkPool>(new (std::nothrow) ChunkPool(config, static_cast<char*>(region)));
}

ChunkPool::ChunkPool(const Config& config, char* region)
    : config_(config),
      region_(region),
      open_(OpenQueueCapacity(config)),
      free_(config.max_chunks, 1, 0),
      free_token_(free_) {}

ChunkPool::~ChunkPool() { munmap(region_, size_t{config_.max_chunks} * config_.chunk_bytes); }

Chunk* ChunkPool::Take(uint32_t limit) {
  Chunk* chunk = nullptr;
  if (!free_.try_dequeue(chunk)) {
    // The load keeps the counter from running away while the pool is exhausted; a lost race costs one index at most.
    uint32_t index = fresh_.load(std::memory_order_relaxed);
    do {
      if (index >= limit) return nullptr;
    } while (!fresh_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    chunk = chunk_at(index);
  }
  // Acquire, released by Recycle. Another value means that a chunk reached the free queue while a thread still owns
  // it, a breach of single-recycler: it is left out of circulation rather than written by two threads.
  const uint32_t owner = chunk->owner.load(std::memory_order_acquire);
  assert(owner == kOwnerFree);
  if (owner != kOwnerFree) return nullptr;
  return chunk;
}

size_t ChunkPool::TakeAnnounced(Chunk** chunks, size_t max) { return open_.try_dequeue_bulk(chunks, max); }

void ChunkPool::Recycle(Chunk* chunk) {
  chunk->read_offset = 0;
  ++chunk->recycles;
  // Release, acquired by Take: the drain's reads of the chunk are over before a thread writes into it again.
  chunk->owner.store(kOwnerFree, std::memory_order_release);
  free_.enqueue(free_token_, chunk);
  // Release, acquired by recycled(): a thread that looks again because of the new count finds the chunk.
  recycled_.fetch_add(1, std::memory_order_release);
}

void ChunkPool::Prefault(uint32_t ready) {
  const uint32_t used = fresh_.load(std::memory_order_relaxed);
  const uint32_t free_now = static_cast<uint32_t>(free_.size_approx());
  if (free_now >= ready) return;
  const uint32_t target = std::min(config_.chunks, used + (ready - free_now));
  for (prefaulted_ = std::max(prefaulted_, used); prefaulted_ < target; ++prefaulted_) {
    // MADV_POPULATE_WRITE (23) faults pages in without changing them, so it may race with a thread that has just taken
    // the chunk. On kernels before 5.14 it fails, and the recording thread pays for the first touch.
    if (madvise(chunk_at(prefaulted_), config_.chunk_bytes, 23) != 0) break;
  }
}

void ChunkPool::Retire() {
  madvise(region_, size_t{config_.max_chunks} * config_.chunk_bytes, MADV_DONTNEED);
}

bool ChunkPool::RunningLow() const {
  const uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  const uint32_t unused = fresh < config_.chunks ? config_.chunks - fresh : 0;
  return free_.size_approx() + unused < config_.chunks / 4;
}

uint32_t ChunkPool::chunks_used() const {
  return std::min(fresh_.load(std::memory_order_relaxed), config_.max_chunks);
}

}  // namespace ferret::internal
