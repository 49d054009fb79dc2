// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ThreadTrace: what the drain knows of one recording thread: its chunks in order, its open scopes, its identity.
//
// Drain thread only. Made when the first chunk of a thread arrives, gone when the thread has exited, all of its chunks
// are read, none of its asynchronous scopes is open any more, and with a crash file none of its chunks waits.

#ifndef FERRET_RUNTIME_DRAIN_THREAD_TRACE_H_
#define FERRET_RUNTIME_DRAIN_THREAD_TRACE_H_

#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "ferret/internal/record_format.h"
#include "runtime/crash/crash_layout.h"
#include "runtime/drain/linker.h"
#include "runtime/drain/open_scope.h"
#include "runtime/record/chunk.h"

namespace ferret::internal {

struct ThreadTrace {
  static constexpr uint32_t kNoWindow = UINT32_MAX;

  explicit ThreadTrace(const Chunk& first)
      : thread(first.thread), os_tid(first.os_tid), begins(first.begins), links(first.thread) {
    usual.thread = thread;
    usual.device_resource_id = os_tid;
    usual.activity_type = ActivityType::kCpuOp;
  }

  // Identity. Ferret's id never changes; what is shown is the framework's id once it is known.
  const uint32_t thread;
  const int32_t os_tid;
  uint32_t shown_thread() const { return usual.thread; }
  uint32_t framework_thread = 0;  // 0: none
  std::string name;               // given by the program, else by the system
  // What most of its events have in common: each begins as a copy.
  FunctionEvent usual;

  // Chunks that still hold unread records or may get more, by sequence.
  std::deque<Chunk*> chunks;
  // In this pass: how far the front chunk may be read, and whether it is sealed there.
  uint32_t readable = 0;
  bool front_sealed = false;

  uint32_t begins;          // handle of the latest begin that was read
  int64_t last_ns = INT64_MIN;  // of the latest record read; times never go back behind it
  int64_t first_ns = 0;     // of the first record in the window
  bool has_first = false;  // in the window
  bool exited = false;

  // Window of the chunk that is being read (see runtime/record/windows.h), and its end: INT64_MAX while it goes on.
  uint32_t window = kNoWindow;
  int64_t window_end_ns = INT64_MAX;

  std::vector<OpenScope> open;        // nested, innermost last
  absl::btree_multimap<uint32_t, OpenScope> open_async;  // by handle; thousands may be open, and end in any order
  int64_t root_children_ns = 0;       // time of closed scopes without parent
  // A scope opened last with kInheritsBackward and nothing since: its place in `open` plus one, else 0.
  size_t inheriting = 0;
  // Ends that other threads recorded for begins of this thread which were not read yet.
  uint32_t early_ends = 0;

  LinkQueue links;

  // With a crash file only. Chunks that were read but must stay until what was built from them is settled, by sequence.
  struct HeldChunk {
    Chunk* chunk;
    uint64_t batch;    // the last one that has anything of it
    bool remote_ends;  // it has ends of other threads' scopes
    std::vector<CarriedScope> open;  // what was open where it ends, kMaxCarriedScopes at most
    size_t open_beyond;              // the others
    std::optional<CarriedSteps> steps;
  };
  std::deque<HeldChunk> held;
  uint32_t crash_slot = UINT32_MAX;
  uint64_t position = 0;         // CrashPosition, how far it was read
  bool advanced = false;         // since the last cut
  int64_t next_id = 0;           // of the next begin
  uint64_t remote_ends = 0;      // read so far
  uint64_t remote_ends_held = 0; // before the current chunk
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_THREAD_TRACE_H_
