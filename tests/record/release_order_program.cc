// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread records, one reads what the write offset covers. Built twice: with the sources as they are, and with
// copies in which the offset's release store is relaxed. release_order_process_test runs both under TSAN.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "ferret/scope.h"
#include "runtime/record/recorder.h"

namespace {

using ferret::internal::Chunk;
using ferret::internal::Recorder;

// Adds up the words of all records, as the drain would read them.
uint64_t Read(Chunk* chunk) {
  uint64_t sum = 0;
  const uint32_t end = chunk->write_offset.load(std::memory_order_acquire);
  for (uint32_t& offset = chunk->read_offset; offset < end; offset += 8) {
    uint64_t word;
    std::memcpy(&word, chunk->bytes() + offset, sizeof(word));
    sum += word;
  }
  return sum;
}

}  // namespace

int main() {
  Recorder::Config config;
  config.pool.chunk_bytes = ferret::internal::kMinChunkBytes;
  Recorder* const recorder = Recorder::Create(config);
  recorder->Start(true);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) {
      FERRET_SCOPE("watched");
    }
    done.store(true, std::memory_order_relaxed);
  });
  std::vector<Chunk*> chunks;
  uint64_t sum = 0;
  while (!done.load(std::memory_order_relaxed)) {
    Chunk* taken[64];
    const size_t count = recorder->pool().TakeAnnounced(taken, 64);
    for (size_t i = 0; i < count; ++i) {
      (void)taken[i]->owner.load(std::memory_order_acquire);
      taken[i]->read_offset = taken[i]->header_bytes;
      chunks.push_back(taken[i]);
    }
    for (Chunk* chunk : chunks) sum += Read(chunk);
  }
  writer.join();
  Recorder::Stop();
  std::printf("read %zu chunks, sum %llu\n", chunks.size(), static_cast<unsigned long long>(sum));
  return 0;
}
