// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the threads of a crash file had at one moment, although the process may go on writing it.
//
//   chunks, looked at twice ─► copies; of a thread's chunks before its newest copy, all that were not recycled yet, whole
//   the lowest copy that is still there ─► what was carried ─► still the same one? else once more
//
// Chunks are recycled in their order, and what a chunk leaves open is carried before it is recycled. So when the lowest
// one has stayed while the carried scopes were read, they are what was open where it begins: the thread as it was at the
// end of its newest copy, complete. In the file of a dead process nothing moves and everything is right at once.
//
// Nothing is believed: numbers are bounded by the part that they are read from, but not checked for sense.

#ifndef FERRET_RUNTIME_CRASH_CRASH_SNAPSHOT_H_
#define FERRET_RUNTIME_CRASH_CRASH_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/crash/crash_layout.h"
#include "runtime/record/chunk.h"

namespace ferret::internal {

// A chunk of the file, copied up to its write offset.
struct ChunkCopy {
  std::unique_ptr<char[]> memory;
  Chunk* chunk = nullptr;  // in `memory`, with room for a whole chunk
  uint64_t place = 0;      // in the part
};

// Memory for a chunk of that size, not initialized.
void MakeCopyRoom(uint32_t chunk_bytes, ChunkCopy* copy);
// The chunks that are in use. `chunk_bytes` holds a chunk's header at least.
std::vector<ChunkCopy> CopyChunks(std::string_view chunks, uint32_t chunk_bytes);
// Whether the chunk was not recycled since it was copied.
bool IsStillThere(std::string_view chunks, const ChunkCopy& copy);

// An entry of the threads with the blocks that it names, as they were at one moment.
struct ThreadCopy {
  uint32_t thread = 0;  // 0: the entry is free
  int32_t os_tid = 0;
  uint64_t position = 0;
  char name[40] = {};
  std::vector<CarriedBlock> carried;
  uint32_t not_carried = 0;
};

// `place` is that of an entry. False if it changed all the time.
bool CopyThread(std::string_view threads, std::string_view carried, uint64_t place, ThreadCopy* copy);

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_SNAPSHOT_H_
