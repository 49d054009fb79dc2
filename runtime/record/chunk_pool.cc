// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/chunk_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstring>
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

ChunkPool::~ChunkPool() { munmap(region_, bytes()); }

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
  if (IsAway(IndexOf(chunk))) {
    // What cannot be where a kill leaves it is not handed out again.
    if (!Replace(IndexOf(chunk), 1) && file_ != nullptr) return;
    away_[IndexOf(chunk)] = false;
  }
  chunk->read_offset = 0;
  chunk->first_id = 0;
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
  madvise(region_, bytes(), MADV_DONTNEED);
}

bool ChunkPool::MoveInto(char* mapped) {
  file_ = mapped;
  return Move();
}

void ChunkPool::MoveBack(int file, uint64_t offset) {
  file_ = nullptr;
  const std::vector<bool> elsewhere = away_;
  Move();  // what cannot be moved stays in a file without a name
  if (file < 0) return;
  for (uint32_t i = 0; i < elsewhere.size(); ++i) {
    if (!away_[i] || elsewhere[i]) continue;
    const uint64_t place = uint64_t{i} * config_.chunk_bytes;
    mmap(region_ + place, config_.chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
         static_cast<off_t>(offset + place));
  }
}

// Whoever has taken a chunk out of the queue owns it, and so do the claims here: no thread that is late can write into
// what is replaced, nor take it meanwhile.
bool ChunkPool::Move() {
  std::vector<Chunk*> claimed;
  // The queue may say that it is empty while a thread that is late looks, too.
  for (int looks = 0; looks < 1000 && free_.size_approx() != 0; ++looks) {
    for (Chunk* chunk; free_.try_dequeue(chunk);) claimed.push_back(chunk);
  }
  const uint32_t fresh = std::min(fresh_.exchange(config_.max_chunks, std::memory_order_relaxed), config_.max_chunks);

  away_.assign(config_.max_chunks, true);
  for (const Chunk* chunk : claimed) away_[IndexOf(chunk)] = false;
  std::fill(away_.begin() + fresh, away_.end(), false);
  bool moved = true;
  for (uint32_t first = 0; first < config_.max_chunks;) {
    uint32_t end = first + 1;
    while (end < config_.max_chunks && away_[end] == away_[first]) ++end;
    if (!away_[first]) moved = Replace(first, end - first) && moved;
    first = end;
  }
  for (Chunk* chunk : claimed) free_.enqueue(free_token_, chunk);
  prefaulted_ = 0;
  fresh_.store(fresh, std::memory_order_relaxed);
  return moved;
}

bool ChunkPool::Replace(uint32_t first, uint32_t count) {
  char* const at = chunk_at(first)->bytes();
  const size_t size = size_t{count} * config_.chunk_bytes;
  if (file_ == nullptr) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(at, size, PROT_READ | PROT_WRITE, kFlags, -1, 0) != MAP_FAILED;
  }
  // A size of 0: the same pages once more. The host may have closed the file's descriptor.
  char* const from = file_ + size_t{first} * config_.chunk_bytes;
  return mremap(from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
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
