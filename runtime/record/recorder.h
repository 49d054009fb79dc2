// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Recorder: the cold half of recording. It attaches threads, opens and seals chunks, applies the overflow policy and
// counts what is refused; the hot half is include/ferret/internal/hot_path.h, the records themselves named_records.cc.
//
// One recorder is current while a session is on. Recorders are never freed, since a thread that is late may still hold
// a chunk; a session with the same sizes takes over the last one.

#ifndef FERRET_RUNTIME_RECORD_RECORDER_H_
#define FERRET_RUNTIME_RECORD_RECORDER_H_

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/record/chunk_pool.h"
#include "runtime/record/steps.h"
#include "runtime/record/thread_state.h"
#include "runtime/threads/wake_signal.h"

namespace ferret::internal {

// What happens to a begin when no chunk is to be had.
enum class OverflowPolicy : uint8_t { kDrop, kBlock, kGrow };

class Recorder {
 public:
  struct Config {
    ChunkPool::Config pool;
    OverflowPolicy policy = OverflowPolicy::kDrop;
    int64_t block_limit_ns = 100'000'000;
  };

  // Leaked on purpose by the caller. nullptr without memory.
  static Recorder* Create(const Config& config);

  // Makes it current and turns recording on with a new epoch, unless `paused`. Without `cycle_counter` records are
  // stamped with CLOCK_MONOTONIC, out of line.
  // `wants`: kWant… bits, what is asked of those who record.
  void Start(bool cycle_counter, uint32_t wants = 0, bool paused = false);
  // Turns recording off. A thread that passed the enabled test before may still write one record.
  static void Stop();
  // Turns recording off and on within a session, in a new window each time. The caller sees to it that they alternate,
  // and that no session starts or stops meanwhile.
  static void Pause();
  static void Resume();
  // The epoch in which the current session started: chunks of earlier ones hold what came too late for theirs.
  uint32_t first_epoch() const { return first_epoch_.load(std::memory_order_relaxed); }

  // The window in which it records, or would have, from the session's start on.
  uint32_t first_window() const { return first_window_.load(std::memory_order_relaxed); }
  // Of a recorder that never starts, whose chunks were recorded by another one.
  void SetFirstWindow(uint32_t window) { first_window_.store(window, std::memory_order_relaxed); }

  // All threads pass the cold path once, and open a chunk with their identity anew.
  static void NewEpoch();
  static void SetThreadIdProvider(uint64_t (*current_thread_id)());

  // The calling thread records nothing from here on, uncounted: Ferret's own threads, and a forked child.
  static void SuppressThisThread();

  // For pthread_atfork. The child records nothing; what its parent's threads recorded into is left where it is.
  // A handler that records while the names and states are locked would wait for its own thread: it is refused instead.
  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();
  // Instead of the last one, where the child may record: once a session is started there. `restart`, if it is not null, is
  // called once, by the first record (also by the first step, if `steps` is set), on its thread and with no lock held. It is
  // to start a session; if it does not, the child records nothing.
  static void AfterForkInSessionChild(void (*restart)(), bool steps);
  // Takes that back, and returns what is not called then; and takes that back in turn.
  static void (*CancelRestart())();
  static void AllowRestart(void (*restart)());
  // Whether this process is a child that no handler knew of. It records nothing from here on.
  static bool IsUnknownChild();

  ChunkPool& pool() { return *pool_; }
  const Config& config() const { return config_; }

  // The drain thread sleeps here: until Wake, or at most so long.
  void WaitForWork(int64_t timeout_ns) { wake_.Wait(timeout_ns); }
  void Wake() { wake_.Wake(); }
  // The current recorder's, if there is one.
  static void WakeDrain();

  // Chunks still open when the last session ended; the next drain takes them over. Owned by the drain or, between
  // sessions, by the session lock.
  std::vector<Chunk*>& leftover_chunks() { return leftover_chunks_; }

  // pthread_key destructor.
  static void OnThreadExit(void* state);

  // The cold way to a record: like the inline one, but for every case. `at` is null when the record was refused (and
  // counted); otherwise the gate is closed until Commit.
  struct Place {
    char* at = nullptr;
    ThreadState* state = nullptr;
    explicit operator bool() const { return at != nullptr; }
  };
  // kNote: a record that nobody counts as an attempt (a step, a thread's name). It goes where begins go, and is not
  // counted when it is refused. kRemoteEnd: an end, but of a scope that reserved nothing in this chunk.
  enum class Room : uint8_t { kBegin, kNote, kEnd, kRemoteEnd };
  static Place Enter(uint32_t bytes, Room room);
  static void Commit(const Place& place, uint32_t bytes);
  // The same in a signal handler: never opens a chunk. What `can_be` no record is refused, and counted like the others.
  static Place EnterFromSignal(uint32_t bytes, Room room, bool can_be);
  // Whether a record of so many bytes fits into an empty chunk of the current pool.
  static bool CanEverFit(uint32_t bytes);
  // Details that found no room, or were cut, since the process started.
  static void CountLostDetails();
  static uint64_t lost_details();
  static uint64_t ReadTicks();
  static bool uses_cycle_counter();
  static uint32_t NameId(ThreadState* state, std::string_view name);
  // For names that are looked up outside of a record.
  static uint32_t NameIdOutsideOfRecord(std::string_view name);

 private:
  explicit Recorder(const Config& config) : config_(config) {}

  static void ForgetParent();
  static bool RestartInChild();
  static void StepInNewChild(StepSource source, uint64_t number);
  static Place EnterRarely(uint32_t bytes, Room room);
  static Place EnterLive(ThreadState* state, uint32_t epoch, uint32_t bytes, Room room);
  static Place Attach(ThreadState* state, uint32_t epoch, uint32_t bytes, Room room);
  static void Detach(ThreadState* state);
  static bool Fits(const ThreadState* state, uint32_t bytes, Room room);
  bool OpenChunk(ThreadState* state, Room room);
  Chunk* TakeChunk(ThreadState* state, Room room);
  Chunk* TakeChunkBlocking();
  static void Seal(Chunk* chunk);
  static void WriteLossRecord(ThreadState* state);
  void Refuse(ThreadState* state, Room room);
  bool TakeToken(ThreadState* state);

  const Config config_;
  const uint32_t pid_ = static_cast<uint32_t>(getpid());  // a system call; a forked child makes another one
  std::unique_ptr<ChunkPool> pool_;
  std::atomic<uint32_t> first_window_{0};  // like first_epoch_
  std::atomic<uint32_t> first_epoch_{0};  // stored before the epoch is published; relaxed readers have seen the epoch
  WakeSignal wake_;
  std::vector<Chunk*> leftover_chunks_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_RECORDER_H_
