// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ThreadRegistry: hands out thread states, takes them back when threads exit, and adds up what threads lost.
//
// One for the process, never destroyed. Its lock is taken on a thread's first record, on thread exit and when losses
// are read: never on the recording path.

#ifndef FERRET_RUNTIME_RECORD_THREAD_REGISTRY_H_
#define FERRET_RUNTIME_RECORD_THREAD_REGISTRY_H_

#include <pthread.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "ferret/loss.h"
#include "runtime/record/thread_state.h"

namespace ferret::internal {

class ThreadRegistry {
 public:
  static constexpr size_t kMaxThreads = 4096;

  static ThreadRegistry& Global();

  // A state with a fresh logical id for the calling thread, with its exit hook armed; nullptr beyond kMaxThreads live
  // ones or without memory.
  ThreadState* Acquire();
  // Called by the exit hook, on the state's own thread, after its chunk is sealed.
  void Release(ThreadState* state);
  // Live threads that are gone all the same: ended by the exit system call, or without an exit hook. The system is asked
  // about each one. Not on a recording thread.
  std::vector<uint32_t> FindGone();
  // Takes back the state of one of them, when the drain has its chunk.
  void Reclaim(uint32_t thread);
  // Arms the exit hook of the calling thread for one more round of destructors.
  void ArmExitHook(ThreadState* state) { if (has_exit_key_) pthread_setspecific(exit_key_, state); }

  // Losses that cannot be blamed on a thread state: recorded after exit, or by threads that got none.
  void CountUnowned(LossReason reason) {
    unowned_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }

  // Since the process started, by logical id (0: unowned). Threads that lost nothing are left out.
  std::map<uint32_t, LossCounts> Losses();

  // Ends that found no room, of all threads since the process started: their scopes were recorded, and end with the
  // next scope around them, or with the session, flagged. Relaxed: a count.
  void CountRefusedEnd() { ends_refused_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t ends_refused() const { return ends_refused_.load(std::memory_order_relaxed); }

  size_t live_threads();

  // In a forked child, with the lock held: the parent's threads are not here, and what they lost is the parent's. States are
  // left where they are. The child's threads get ids that the parent has not given, and number their scopes from `end_word`
  // on, if that is not 0: ends of the parent's scopes then match none of the child's.
  void ForgetInChild(uint64_t end_word);
  // In a child whose other threads may have held the lock.
  void RenewLock() { new (&mutex_) std::mutex; }

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  ThreadRegistry();
  void TakeBack(ThreadState* state);

  std::mutex mutex_;
  std::vector<ThreadState*> states_;  // all ever made
  std::vector<ThreadState*> free_;
  uint32_t next_thread_ = 1;
  uint64_t first_end_word_ = RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, 1);
  std::map<uint32_t, LossCounts> exited_;  // losses of threads that are gone
  std::array<std::atomic<uint64_t>, kLossReasonCount> unowned_{};  // relaxed: counts only
  std::atomic<uint64_t> ends_refused_{0};
  pthread_key_t exit_key_{};
  bool has_exit_key_ = false;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_RECORD_THREAD_REGISTRY_H_
