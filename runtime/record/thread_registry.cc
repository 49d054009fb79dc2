// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/thread_registry.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "runtime/record/recorder.h"

namespace ferret::internal {
namespace {

// Beyond this many exited threads with losses, the counts of further ones are kept together, under id 0.
constexpr size_t kMaxExitedWithLosses = 65536;

LossCounts Snapshot(const std::array<std::atomic<uint64_t>, kLossReasonCount>& counters) {
  LossCounts counts;
  for (size_t i = 0; i < kLossReasonCount; ++i) counts.by_reason[i] = counters[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace

ThreadRegistry& ThreadRegistry::Global() {
  static ThreadRegistry* registry = new ThreadRegistry;
  return *registry;
}

// A process may have used up its keys (1,024). Then there is no exit hook: that a thread is gone is found out later.
ThreadRegistry::ThreadRegistry() { has_exit_key_ = pthread_key_create(&exit_key_, &Recorder::OnThreadExit) == 0; }

ThreadState* ThreadRegistry::Acquire() {
  ThreadState* state = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      state = free_.back();
      free_.pop_back();
    } else {
      if (states_.size() >= kMaxThreads) return nullptr;
      state = new (std::nothrow) ThreadState;
      if (state == nullptr) return nullptr;
      states_.push_back(state);
    }
    state->thread = next_thread_++;
    state->os_tid = static_cast<int32_t>(syscall(SYS_gettid));
    state->in_use = true;
  }
  state->end_word = first_end_word_;
  state->epoch = 0;
  state->chunk_sequence = 0;
  state->session = 0;
  state->refused = false;
  state->unreported = 0;
  state->loss_ticks = 0;
  state->exit_rounds = 0;
  ArmExitHook(state);
  return state;
}

void ThreadRegistry::Release(ThreadState* state) {
  std::lock_guard<std::mutex> lock(mutex_);
  TakeBack(state);
}

void ThreadRegistry::TakeBack(ThreadState* state) {
  const LossCounts counts = Snapshot(state->lost);
  if (counts.total() != 0) {
    exited_[exited_.size() < kMaxExitedWithLosses ? state->thread : 0] += counts;
    for (auto& counter : state->lost) counter.store(0, std::memory_order_relaxed);
  }
  state->in_use = false;
  free_.push_back(state);
}

std::vector<uint32_t> ThreadRegistry::FindGone() {
  std::vector<std::pair<int32_t, uint32_t>> threads;  // the system's number, ours
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const ThreadState* state : states_) {
      if (state->in_use) threads.emplace_back(state->os_tid, state->thread);
    }
  }
  std::sort(threads.begin(), threads.end());
  const pid_t process = getpid();
  std::vector<uint32_t> gone;
  for (size_t i = 0; i < threads.size(); ++i) {
    // Two threads have one number only if the system gave it away again after the older one's end.
    const bool replaced = i + 1 < threads.size() && threads[i + 1].first == threads[i].first;
    if (replaced || (syscall(SYS_tgkill, process, threads[i].first, 0) != 0 && errno == ESRCH)) {
      gone.push_back(threads[i].second);
    }
  }
  return gone;
}

// The system has let go of the thread before it said so: whatever the thread has written is there.
void ThreadRegistry::Reclaim(uint32_t thread) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(states_.begin(), states_.end(), [thread](const ThreadState* state) {
    return state->in_use && state->thread == thread;
  });
  if (found == states_.end()) return;  // it went through its exit hook after all
  ThreadState* const state = *found;
  if (state->gate.load(std::memory_order_relaxed) == kGateClosed) {
    // It ended in the middle of a record, or of an operation of the queue: nobody may use the state again.
    state->in_use = false;
    return;
  }
  CloseGate(state);
  state->current = nullptr;
  state->chunk = state->cursor = state->begin_limit = state->end_limit = nullptr;
  state->open_gate = kGateUnattached;
  TakeBack(state);
}

std::map<uint32_t, LossCounts> ThreadRegistry::Losses() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<uint32_t, LossCounts> losses = exited_;
  for (ThreadState* state : states_) {
    const LossCounts counts = Snapshot(state->lost);
    if (counts.total() != 0) losses[state->thread] += counts;
  }
  const LossCounts unowned = Snapshot(unowned_);
  if (unowned.total() != 0) losses[0] += unowned;
  return losses;
}

// Allocates nothing: this runs in a handler.
void ThreadRegistry::ForgetInChild(uint64_t end_word) {
  new (&states_) std::vector<ThreadState*>;
  new (&free_) std::vector<ThreadState*>;
  new (&exited_) std::map<uint32_t, LossCounts>;
  for (auto& counter : unowned_) counter.store(0, std::memory_order_relaxed);
  ends_refused_.store(0, std::memory_order_relaxed);
  if (end_word != 0) first_end_word_ = end_word;
}

size_t ThreadRegistry::live_threads() {
  std::lock_guard<std::mutex> lock(mutex_);
  return states_.size() - free_.size();
}

}  // namespace ferret::internal
