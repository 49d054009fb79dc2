// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the Drain that is for threads which are gone without having said so: the exit system call, no exit hook
// because the process has no more keys. What their exit would have done is done for them.

#include "runtime/drain/drain.h"
#include "runtime/drain/record_reader.h"

namespace ferret::internal {
namespace {

// Of the last record in the chunk, if there is one.
uint64_t LastTicks(const Chunk& chunk, uint64_t otherwise) {
  const uint32_t end = chunk.write_offset.load(std::memory_order_acquire);
  uint64_t ticks = otherwise;
  for (uint32_t offset = chunk.header_bytes; offset < end;) {
    const char* const record = chunk.bytes() + offset;
    ticks = Word(record, 1);
    offset += RecordBytes(Word(record, 0));
  }
  return ticks;
}

// The thread's exit. Nobody else writes to the chunk any more.
void WriteExit(Chunk* chunk, uint64_t ticks) {
  const uint32_t end = chunk->write_offset.load(std::memory_order_relaxed);
  // There is always room, see chunk.h.
  Put(chunk->bytes() + end, 0, RecordHeader(RecordType::kThreadExit, kThreadExitBytes, kNoFlags, 0));
  Put(chunk->bytes() + end, 1, ticks);
  chunk->write_offset.store(end + kThreadExitBytes, std::memory_order_release);
}

// Whether the chunk was the thread's own to leave.
bool IsLeftOpen(const Chunk& chunk) { return chunk.sealed.load(std::memory_order_acquire) == 0; }

void Seal(Chunk* chunk) { chunk->sealed.store(1, std::memory_order_release); }

// A thread that was ended between two chunks has left the old one open, too, beside the new one.
void EndChunks(ThreadTrace& trace, uint64_t now_ticks) {
  uint64_t ticks = now_ticks;
  for (Chunk* const chunk : trace.chunks) {
    if (!IsLeftOpen(*chunk)) continue;
    ticks = LastTicks(*chunk, ticks);
    if (chunk == trace.chunks.back()) WriteExit(chunk, ticks);
    Seal(chunk);
  }
}

}  // namespace

void Drain::EndThreads(const std::vector<uint32_t>& gone, uint64_t now_ticks) {
  if (gone.empty()) return;
  TakeAnnounced();
  for (const uint32_t thread : gone) {
    ThreadTrace* const trace = builder_.FindTrace(thread);
    if (trace != nullptr) EndChunks(*trace, now_ticks);
    for (Chunk* chunk : stale_) {
      if (chunk->thread == thread && IsLeftOpen(*chunk)) Seal(chunk);
    }
  }
}

}  // namespace ferret::internal
