// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Chunk: the memory block that one thread at a time writes records into, in place.
//
//      0 +------------------------------------------------------------+
//        | line 0, writer: identity of the thread, where it stands    |
//     64 +------------------------------------------------------------+
//        | line 1, reader: how far the drain has read                 |
//    128 +------------------------------------------------------------+
//        | records …                                                  |
//        |                        ^ write_offset                      |
//   -528 +- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -+  begins end here
//        | 512 bytes that only ends may use                           |
//    -16 +- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -+  ends end here
//        | room for the thread-exit record                            |
//   size +------------------------------------------------------------+
//
// The reserve keeps loss to whole scopes: a begin that was recorded finds room for its end even if no new chunk is to
// be had, up to a nesting of 32.
//
// Life of a chunk, and the names of the invariants:
//   open      owner = its thread; announced once, when taken (announce-on-open)
//   sealed    its thread never touches it again
//   recycled  by the drain only, and only when sealed and read to the end (single-recycler)
//
// A chunk holds no pointers, so that it may live in a mapped file.

#ifndef FERRET_RUNTIME_RECORD_CHUNK_H_
#define FERRET_RUNTIME_RECORD_CHUNK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ferret/internal/hot_path.h"
#include "ferret/internal/record_format.h"

namespace ferret::internal {

inline constexpr uint32_t kChunkMagic = 0x46524b43;  // "CKRF"
inline constexpr uint32_t kChunkHeaderBytes = 128;
inline constexpr uint32_t kEndReserveBytes = 512;
inline constexpr uint32_t kDefaultChunkBytes = 64 * 1024;
inline constexpr uint32_t kMinChunkBytes = 4 * 1024;
inline constexpr uint32_t kMaxChunkBytes = 1024 * 1024;

// Values of Chunk::owner besides a thread's logical id.
inline constexpr uint32_t kOwnerFree = 0;

struct alignas(64) Chunk {
  // Line 0. Plain fields are written while the thread owns the chunk and nobody else can see it.
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint32_t chunk_bytes;
  uint32_t pid;
  uint32_t epoch;             // Switch::epoch when it was opened
  uint32_t thread;            // logical id, never reused
  int32_t os_tid;
  uint32_t framework_thread;  // the framework's id of the thread, 0 if it has none
  uint32_t sequence;          // 0, 1, 2, … among the chunks of the thread
  uint32_t begins;            // handle of the thread's latest begin before this chunk
  // Where the next record goes, from the start of the chunk. Release by the writer for each record, acquired by the
  // drain: publishes the bytes before it.
  std::atomic<uint32_t> write_offset;
  // 1 once the writer has left. Release after its last write_offset; the drain acquires it BEFORE loading
  // write_offset: if it is set, the offset loaded afterwards is final.
  std::atomic<uint32_t> sealed;
  // The writing thread's id, or kOwnerFree. Repeats the ordering that the queues give, so that ThreadSanitizer, which
  // does not see their fences, and a check at each hand-over do: released by the writer on opening, acquired by the
  // drain after dequeuing; released by the drain on recycling, acquired by the writer after dequeuing.
  std::atomic<uint32_t> owner;
  uint32_t window;  // in which it was opened, see windows.h
  uint32_t reserved[2];

  // Line 1.
  uint32_t read_offset;  // written by the drain only
  uint32_t recycles;     // how often the chunk went back to the free queue
  uint64_t first_id;     // with a crash file: the id of the event of the chunk's first begin; 0 until it is read
  uint32_t reserved2[12];

  char* bytes() { return reinterpret_cast<char*>(this); }
  const char* bytes() const { return reinterpret_cast<const char*>(this); }
  uint32_t begin_limit() const { return chunk_bytes - kEndReserveBytes - kThreadExitBytes; }
  uint32_t end_limit() const { return chunk_bytes - kThreadExitBytes; }
};

static_assert(sizeof(Chunk) == kChunkHeaderBytes, "two cache lines");
static_assert(offsetof(Chunk, thread) == 20 && offsetof(Chunk, begins) == 36, "layout is part of the format");
static_assert(offsetof(Chunk, write_offset) == 40 && offsetof(Chunk, sealed) == 44 && offsetof(Chunk, owner) == 48,
              "layout is part of the format");
static_assert(offsetof(Chunk, write_offset) == kWriteOffsetPlace, "the recording path finds it there");
static_assert(offsetof(Chunk, read_offset) == 64, "the reader writes a line of its own");
static_assert(offsetof(Chunk, first_id) == 72, "layout is part of the format");
static_assert(std::atomic<uint32_t>::is_always_lock_free, "address-free, so usable in a shared mapping");
static_assert(kMaxChunkBytes < UINT32_MAX, "offsets are 32 bits");
static_assert(kEndReserveBytes == 32 * kEndBytes, "32 open scopes can always end");
static_assert(kMinChunkBytes >= kChunkHeaderBytes + kOpBeginBytes + 8 + kMaxInlineName + kEndReserveBytes +
                                    kThreadExitBytes,
              "the largest record fits into the smallest chunk");

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_CHUNK_H_
