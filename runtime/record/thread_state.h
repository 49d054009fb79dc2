// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ThreadState: everything that belongs to one recording thread. The first cache line is the Writer of the recording
// path; the rest is for its cold path.
//
// Created by the registry on the thread's first record, used by that thread alone (but for the loss counters, which
// anybody may read), given back by the thread-exit hook, re-used by a later thread under a new logical id, never freed.

#ifndef FERRET_RUNTIME_RECORD_THREAD_STATE_H_
#define FERRET_RUNTIME_RECORD_THREAD_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "ferret/internal/hot_path.h"
#include "ferret/loss.h"
#include "runtime/record/chunk_pool.h"

namespace ferret::internal {

class Recorder;

// Recently used dynamic names of one thread: direct-mapped, verified by content.
struct NameCache {
  static constexpr size_t kEntries = 512;
  struct Entry {
    uint64_t hash = 0;
    uint32_t name_id = 0;
  };
  std::array<Entry, kEntries> entries{};
};

struct ThreadState : Writer {
  ThreadState() : Writer(WriterKind::kLive) { open_gate = kGateUnattached; }

  uint32_t epoch = 0;  // the one it is attached to

  // Whose pool the chunk and the token belong to. Recorders are never freed.
  Recorder* recorder = nullptr;
  std::optional<moodycamel::ProducerToken> open_token;
  Chunk* spare = nullptr;  // taken, but the queue had no memory to announce it
  Chunk* current = nullptr;  // same as Writer::chunk
  uint32_t chunk_sequence = 0;
  int32_t os_tid = 0;  // like in_use and thread, read by others under the registry's lock
  bool in_use = false;

  uint32_t session = 0;  // Recorder::first_epoch() of the session that what follows is about
  // A refused thread looks for a chunk again only when one was recycled since: the drop path then costs a few ns.
  bool refused = false;
  uint32_t recycled_seen = 0;
  // Losses since the last loss record, and the ticks of the first of them.
  uint64_t unreported = 0;
  uint64_t unreported_since = 0;
  LossReason unreported_reason = LossReason::kPoolExhausted;
  uint64_t loss_ticks = 0;  // of the latest loss record

  // Written by the thread, read by the drain at any time. Relaxed: a count publishes nothing; it is exact once the
  // thread has stopped or exited.
  std::array<std::atomic<uint64_t>, kLossReasonCount> lost{};

  std::unique_ptr<NameCache> names;
  int exit_rounds = 0;

  // With the gate closed: signal handlers then only count kNestedInSignal, so no read-modify-write is needed.
  void Count(LossReason reason) {
    std::atomic<uint64_t>& counter = lost[static_cast<size_t>(reason)];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // In a handler, which another one may interrupt.
  void CountNestedInSignal() {
    lost[static_cast<size_t>(LossReason::kNestedInSignal)].fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_THREAD_STATE_H_
