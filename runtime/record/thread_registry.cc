// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/thread_registry.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>

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

// A process may have used up its keys (1,024). Then there is no exit hook: a thread's last chunk stays open until the
// session ends, and its state is not re-used.
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
  }
  state->end_word = RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, 1);
  state->epoch = 0;
  state->chunk_sequence = 0;
  state->session = 0;
  state->refused = false;
  state->unreported = 0;
  state->loss_ticks = 0;
  state->exit_rounds = 0;
  state->os_tid = static_cast<int32_t>(syscall(SYS_gettid));
  ArmExitHook(state);
  return state;
}

void ThreadRegistry::Release(ThreadState* state) {
  std::lock_guard<std::mutex> lock(mutex_);
  const LossCounts counts = Snapshot(state->lost);
  if (counts.total() != 0) {
    exited_[exited_.size() < kMaxExitedWithLosses ? state->thread : 0] += counts;
    for (auto& counter : state->lost) counter.store(0, std::memory_order_relaxed);
  }
  free_.push_back(state);
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

size_t ThreadRegistry::live_threads() {
  std::lock_guard<std::mutex> lock(mutex_);
  return states_.size() - free_.size();
}

}  // namespace ferret::internal
