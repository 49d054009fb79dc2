// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a signal handler records. Everything in ferret/scope.h may be called in one, but may then allocate or take locks
// that the interrupted code holds; what is declared here never does.
//
//     #include "ferret/signal.h"
//
//     const ferret::SignalName g_preempted("preempted");      // before the handler is installed
//
//     void Handler(int) {
//       ferret::InstantFromSignal(g_preempted);
//     }
//
// Async-signal-safe, on any thread, at any moment, with errno left alone: no allocation, no lock, no system call (but
// clock_gettime where the cycle counter is no clock). What cannot be recorded under these conditions is dropped and counted,
// as kNestedInSignal:
//   - while the handler's own thread is in the middle of a record;
//   - on a thread that has not recorded anything since the session, or a window of its schedule, began
//     (ferret::ThreadId() is enough);
//   - when the thread's buffer is full: its own next record gets it a new one;
//   - when the name found no room in the name table.
// As everywhere, a thread that has left Ferret counts kAfterThreadExit, and one that could not be taken kTooManyThreads.

#ifndef FERRET_SIGNAL_H_
#define FERRET_SIGNAL_H_

#include <cstdint>
#include <string_view>

#include "ferret/internal/adapter.h"
#include "ferret/internal/hot_path.h"

namespace ferret {

namespace internal {

// A name of 0 is one that the name table had no room for.
FERRET_EXPORT_SYMBOL void RecordInstantFromSignal(uint32_t name_id);
FERRET_EXPORT_SYMBOL ScopeEnd BeginScopeFromSignal(uint32_t name_id);
FERRET_EXPORT_SYMBOL void EndScopeFromSignal(ScopeEnd end);

}  // namespace internal

// A name that handlers record under. Made outside of handlers, at any time, with or without a session: it takes a lock.
class SignalName {
 public:
  explicit SignalName(std::string_view name) : id_(internal::InternName(name)) {}

 private:
  friend void InstantFromSignal(const SignalName& name);
  friend class ScopeFromSignal;
  uint32_t id_;
};

// A moment.
inline void InstantFromSignal(const SignalName& name) {
  if (internal::Enabled()) internal::RecordInstantFromSignal(name.id_);
}

// The rest of the enclosing block of a handler. It nests in the scope that the signal interrupted. Not to be left by
// siglongjmp.
class ScopeFromSignal {
 public:
  explicit ScopeFromSignal(const SignalName& name) {
    if (internal::Enabled()) end_ = internal::BeginScopeFromSignal(name.id_);
  }
  ~ScopeFromSignal() { internal::EndScopeFromSignal(end_); }
  ScopeFromSignal(const ScopeFromSignal&) = delete;
  ScopeFromSignal& operator=(const ScopeFromSignal&) = delete;

 private:
  internal::ScopeEnd end_;
};

}  // namespace ferret

#endif  // FERRET_SIGNAL_H_
