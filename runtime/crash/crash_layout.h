// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The crash file: everything that is needed to go on with the recording of a process that was killed, in one mapped
// file that the process writes as it records. What is mapped survives any kill at any instruction; nothing is promised
// beyond the life of the kernel.
//
//        0 +------------------------------------------------------------------+
//          | CrashHeader: whose file it is, where the parts are               |  1 page
//          +------------------------------------------------------------------+
//  session | text: what exporters are told of the session, and their specs    |  } written once, before the file
//          +------------------------------------------------------------------+  } gets its name
//    clock | CrashClock: the segments that turn ticks into time               |  }
//          +------------------------------------------------------------------+  }
//  windows | CrashWindows: when recording was paused                          |  } written by the drain
//          +------------------------------------------------------------------+  }
//  threads | CrashThread: how far each thread was exported by every exporter  |  }
//          +------------------------------------------------------------------+  }
//  journal | CrashEntry, a ring: how far each batch brought each thread       |  }
//          +------------------------------------------------------------------+  }
//  carried | CarriedBlock: scopes left open by chunks that are gone           |  }
//          +------------------------------------------------------------------+
//  outputs | CrashOutput: how far each exporter's output is durable           |    written by exporters' threads
//          +------------------------------------------------------------------+
//    names | the name table, see runtime/record/name_table.h                  |  } written by recording threads
//          +------------------------------------------------------------------+  }
//   chunks | see runtime/record/chunk.h                                       |  }
//          +------------------------------------------------------------------+
//
// Parts start at pages. No part holds a pointer. A reader believes nothing: see crash_reader.h.
//
// What makes kills harmless: of two things that belong together the one that says "valid" is stored last, with release
// order, so that the compiler keeps it last; the kernel keeps every store that was executed.

#ifndef FERRET_RUNTIME_CRASH_CRASH_LAYOUT_H_
#define FERRET_RUNTIME_CRASH_CRASH_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ferret/loss.h"
#include "runtime/record/windows.h"

namespace ferret::internal {

inline constexpr char kCrashMagic[8] = {'F', 'E', 'R', 'R', 'E', 'T', 'C', 'F'};
// Changes whenever the meaning of any byte of a part does; records and chunks have kRecordFormatVersion.
inline constexpr uint32_t kCrashVersion = 1;
inline constexpr uint32_t kCrashByteOrder = 0x01020304;
inline constexpr uint64_t kCrashPageBytes = 4096;

enum class CrashPart : uint32_t {
  kSession,
  kClock,
  kWindows,
  kThreads,
  kJournal,
  kCarried,
  kOutputs,
  kNames,
  kChunks,
};
inline constexpr size_t kCrashParts = 9;

inline constexpr uint64_t kCrashSessionBytes = 64 * 1024;
inline constexpr uint32_t kCrashThreads = 8192;
inline constexpr uint32_t kCrashEntries = 32768;
inline constexpr uint32_t kCarriedBlocks = 1024;
inline constexpr uint32_t kCrashOutputs = 8;
inline constexpr uint32_t kCrashSegments = 512;
inline constexpr size_t kCrashPathBytes = 2008;

// How far a thread's records go: the number of the chunk among the thread's, and the offset in it.
constexpr uint64_t CrashPosition(uint32_t sequence, uint32_t offset) { return uint64_t{sequence} << 32 | offset; }
constexpr uint32_t SequenceOf(uint64_t position) { return static_cast<uint32_t>(position >> 32); }
constexpr uint32_t OffsetOf(uint64_t position) { return static_cast<uint32_t>(position); }

// Where the count of training steps stood at the end of a chunk that is gone: StepTracker's fields, and what of its thread
// they refer to.
struct CarriedSteps {
  uint32_t thread;
  uint32_t after_sequence;  // as it was at the end of this chunk
  uint32_t window;
  uint8_t program_marks;
  uint8_t boundary_known;
  uint16_t reserved;
  uint64_t next_number;
  int64_t boundary_ns;
  int64_t boundary_next_id;
  int64_t clear_from_ns;
  int64_t base_id;
  int64_t base_children_ns;
  int64_t root_children_ns;
};
static_assert(sizeof(CarriedSteps) == 72, "layout is part of the format");

struct CrashHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint32_t page_bytes;    // what the parts are aligned to
  uint32_t header_bytes;  // sizeof(CrashHeader)
  uint64_t file_bytes;
  // The process. The start time is that of /proc/<pid>/stat, in clock ticks since boot: with the boot's id it tells the
  // process from a later one with the same pid.
  int32_t pid;
  uint16_t record_version;
  uint16_t reserved;
  uint64_t start_time;
  char boot_id[40];
  struct Part {
    uint64_t offset;
    uint64_t bytes;
  } parts[kCrashParts];
  uint32_t chunk_bytes;
  uint32_t name_entries;
  uint32_t outputs;      // exporters that have an entry in the outputs, in the order of the session's
  uint32_t first_epoch;  // chunks of earlier epochs are older than the recording: threads were late with them
  uint32_t first_window;
  uint32_t reserved2;
  // Of the drain. Relaxed: chunks and scopes name ids of their own, which a reader takes into account as well.
  std::atomic<uint64_t> next_id;    // ids of events below it may be in use
  std::atomic<uint64_t> next_flow;  // the same of arrows
  // Entries journal[begin % size … end % size) are in use. Release, end after the entry was written, begin after what
  // it says was taken over into the threads.
  std::atomic<uint64_t> journal_begin;
  std::atomic<uint64_t> journal_end;
  // The batch with which the session's end closed all scopes; 0 before. Who has that one has everything.
  std::atomic<uint64_t> last_batch;
  // By LossReason, of the session so far. Relaxed: counts, a flush of an exporter old.
  std::atomic<uint64_t> lost[16];
  // The latest two, of which the one with index steps_count % 2 is the older, or about to be written. Release, after it
  // was; the chunk is recycled afterwards.
  std::atomic<uint64_t> steps_count;
  CarriedSteps steps[2];
  // Of the drain, for people. The number of the last training step that ended, plus one, and when: release and acquire on
  // the former, written last.
  std::atomic<uint64_t> last_step;
  std::atomic<int64_t> last_step_end_ns;
};
static_assert(kLossReasonCount <= 16, "part of the format");
static_assert(sizeof(CrashHeader) == 592, "layout is part of the format");
static_assert(offsetof(CrashHeader, pid) == 32 && offsetof(CrashHeader, boot_id) == 48, "layout is part of the format");
static_assert(offsetof(CrashHeader, parts) == 88 && offsetof(CrashHeader, next_id) == 256, "layout is part of the format");

// The segments of the drain's ClockMap, the latest kCrashSegments of `count`.
struct CrashClock {
  // Release, after the segment was written.
  std::atomic<uint64_t> count;
  double ns_per_tick;
  struct Segment {
    uint64_t source;
    int64_t target_ns;
    uint64_t slope;
  } segments[kCrashSegments];
};
static_assert(sizeof(CrashClock) == 16 + 24 * kCrashSegments, "layout is part of the format");

struct CrashWindows {
  std::atomic<uint32_t> current;
  uint32_t reserved;
  std::atomic<uint64_t> ends[Windows::kRemembered];
};
static_assert(sizeof(CrashWindows) == 8 + 8 * Windows::kRemembered, "layout is part of the format");

struct CrashThread {
  // Logical id, 0: free. Release, after the rest.
  std::atomic<uint32_t> thread;
  int32_t os_tid;
  // Every exporter has everything up to here.
  std::atomic<uint64_t> position;
  // 1 + the first block with the scopes that chunks which are gone left open, 0 if there are none. Release, after the
  // blocks were written; the chunk is recycled afterwards.
  std::atomic<uint32_t> carried;
  // How many scopes that were open then were too many to be carried. Relaxed: it is only shown.
  std::atomic<uint32_t> not_carried;
  char name[40];  // ends with 0
};
static_assert(sizeof(CrashThread) == 64, "layout is part of the format");

// Everything of the thread up to `position`, and nothing beyond, is in batches up to `batch`.
struct CrashEntry {
  uint64_t batch;
  uint64_t position;
  uint32_t slot;  // among the threads
  uint32_t thread;
};
static_assert(sizeof(CrashEntry) == 24, "layout is part of the format");

struct CarriedScope {
  int64_t id;
  int64_t parent_id;
  int64_t start_ns;
  int64_t children_ns;
  int64_t sequence_nr;
  uint32_t name_id;
  uint32_t handle;
  uint32_t fwd_thread;
  uint8_t scope;
  uint8_t flags;
  uint8_t is_async;
  uint8_t ended;  // by another thread's record, which is gone
  uint32_t name_bytes;
  char name[68];  // the beginning of a name that is in no table
};
static_assert(sizeof(CarriedScope) == 128, "layout is part of the format");

struct CarriedBlock {
  static constexpr uint32_t kScopes = 15;
  uint32_t thread;
  uint32_t after_sequence;  // as the stack was at the end of this chunk
  uint32_t count;
  uint32_t next;  // as CrashThread::carried
  uint64_t reserved[14];
  CarriedScope scopes[kScopes];  // outermost first
};
static_assert(sizeof(CarriedBlock) == 2048, "layout is part of the format");

// Of one thread at most: neither takes it the blocks of all others, nor do many chunks that wait each hold a copy of
// endlessly many scopes.
inline constexpr size_t kMaxCarriedScopes = kCarriedBlocks / 16 * CarriedBlock::kScopes;

// An exporter's output, as two versions of which `current` is the valid one.
struct CrashOutput {
  struct Version {
    // Everything up to this batch is durable there, or counted lost. Atomic for the drain, which looks at it.
    std::atomic<uint64_t> batch;
    uint64_t bytes;  // of the output's text, until that batch
    uint64_t events;  // that the output has by then
    char path[kCrashPathBytes];        // ends with 0; empty: it cannot be gone on with
    char final_path[kCrashPathBytes];  // what it is to be called in the end
  } versions[2];
  // Release, after the version was written. Its low bit is the version's index.
  std::atomic<uint64_t> current;
  uint64_t reserved[7];
};
static_assert(sizeof(CrashOutput::Version) == 4040 && sizeof(CrashOutput) == 8144, "layout is part of the format");
static_assert(std::atomic<uint64_t>::is_always_lock_free, "address-free, so usable in a shared mapping");

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_LAYOUT_H_
