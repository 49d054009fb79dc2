// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a program records: scopes, operators, annotations, asynchronous scopes, instants, counters, steps.
//
//     #include "ferret/scope.h"
//
//     void Forward(const Batch& batch) {
//       FERRET_SCOPE("forward");            // until the end of the block
//       ...
//     }
//
// Any thread may call anything here at any time, also before main, after main, in destructors and in a forked child.
// While recording is off (no FERRET_EXPORT, no ferret::Start) a call costs a load and a branch. Names may hold any
// bytes; they are copied, a caller's pointer is never kept. Nothing throws. Signal handlers may record on threads that
// have recorded before, in a forked child since the fork, under names that have been recorded before (anything else may
// allocate, or start the child's session; see ferret/signal.h for what never does): what they record while their own
// thread is in the middle of a record is dropped and counted (kNestedInSignal).
//
// A scope ends on the thread that began it; see BeginAsync for scopes that end elsewhere. Do not end scopes of one
// thread in another order than the reverse of their begins: what is still open inside of an ended scope ends with it.

#ifndef FERRET_SCOPE_H_
#define FERRET_SCOPE_H_

#include <cstdint>
#include <string_view>

#include "ferret/internal/hot_path.h"
#include "ferret/record_scope.h"

#define FERRET_CONCAT_INNER(a, b) a##b
#define FERRET_CONCAT(a, b) FERRET_CONCAT_INNER(a, b)

#define FERRET_SITE(name, type, flags, line)                                                                       \
  static FERRET_CONSTANT_INITIALIZED ::ferret::internal::Site FERRET_CONCAT(ferret_site_, line){                    \
      name, ::ferret::internal::RecordType::type, ::ferret::internal::RecordFlags::flags}

// Records the rest of the enclosing block under a name that is a string literal (or lives as long as the process).
#define FERRET_SCOPE(name)                              \
  FERRET_SITE(name, kScopeBegin, kNoFlags, __LINE__);   \
  const ::ferret::Scope FERRET_CONCAT(ferret_scope_, __LINE__)(FERRET_CONCAT(ferret_site_, __LINE__))

// The same as a user annotation: what torch.profiler.record_function makes.
#define FERRET_ANNOTATION(name)                              \
  FERRET_SITE(name, kScopeBegin, kUserAnnotation, __LINE__); \
  const ::ferret::Scope FERRET_CONCAT(ferret_scope_, __LINE__)(FERRET_CONCAT(ferret_site_, __LINE__))

// The same as an operator with autograd fields: FERRET_OP_SCOPE("mul", ferret::ForwardOp(n)).
#define FERRET_OP_SCOPE(name, op)                    \
  FERRET_SITE(name, kOpBegin, kNoFlags, __LINE__);   \
  const ::ferret::OpScope FERRET_CONCAT(ferret_scope_, __LINE__)(FERRET_CONCAT(ferret_site_, __LINE__), op)

// Sites must be initialised before any code runs; the compilers that can check it do.
#if defined(__clang__)
#define FERRET_CONSTANT_INITIALIZED [[clang::require_constant_initialization]]
#else
#define FERRET_CONSTANT_INITIALIZED
#endif

namespace ferret {

class Scope {
 public:
  explicit Scope(internal::Site& site) : end_(internal::BeginScope(site)) {}
  // A name made at run time: looked up in a cache of the calling thread, 10 to 20 ns more than a literal.
  explicit Scope(std::string_view name) {
    if (internal::Enabled()) end_ = internal::BeginNamed(name, internal::kNoFlags);
  }
  ~Scope() { internal::EndScope(end_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  internal::ScopeEnd end_;
};

class Annotation {
 public:
  explicit Annotation(std::string_view name) {
    if (internal::Enabled()) end_ = internal::BeginNamed(name, internal::kUserAnnotation);
  }
  ~Annotation() { internal::EndScope(end_); }
  Annotation(const Annotation&) = delete;
  Annotation& operator=(const Annotation&) = delete;

 private:
  internal::ScopeEnd end_;
};

// The autograd fields of an operator.
struct Op {
  int64_t sequence_nr = -1;  // < 0: none
  // Logical id (see ThreadId) of the thread that ran the forward op: > 0 makes this a backward op. Ignored, as in
  // PyTorch, when there is no sequence number.
  uint32_t fwd_thread = 0;
  RecordScope scope = RecordScope::kFunction;
};

// A forward op whose autograd node will have this number, unique on the calling thread.
constexpr Op ForwardOp(int64_t sequence_nr) { return {sequence_nr, 0, RecordScope::kFunction}; }
// The backward of the forward op with that number on thread `forward_thread`.
constexpr Op BackwardOp(int64_t sequence_nr, uint32_t forward_thread) {
  return {sequence_nr, forward_thread, RecordScope::kBackwardFunction};
}

class OpScope {
 public:
  OpScope(internal::Site& site, const Op& op) : end_(internal::BeginOp(site, Fields(op))) {}
  OpScope(std::string_view name, const Op& op) {
    if (internal::Enabled()) end_ = internal::BeginOpNamed(name, internal::kNoFlags, Fields(op));
  }
  ~OpScope() { internal::EndScope(end_); }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  static internal::OpFields Fields(const Op& op) {
    return {op.sequence_nr, op.fwd_thread, static_cast<uint8_t>(op.scope)};
  }
  internal::ScopeEnd end_;
};

// A scope that may end on another thread. Trivially copyable; pass it along with the work.
struct AsyncScope {
  uint32_t thread = 0;
  uint32_t handle = 0;  // 0: not recorded, ending it does nothing
};

inline AsyncScope BeginAsync(std::string_view name) {
  if (!internal::Enabled()) return {};
  const internal::ScopeEnd end = internal::BeginNamed(name, internal::kAsync);
  return {internal::t_writer->thread, end.handle()};
}
// Once, on any thread. A scope that is never ended is shown as open until the end of the session.
inline void EndAsync(const AsyncScope& scope) {
  if (scope.handle != 0) internal::EndRemote(scope.thread, scope.handle);
}

// A moment, for example "checkpoint written".
inline void Instant(std::string_view name) {
  if (internal::Enabled()) internal::RecordInstant(name);
}
// A value over time, for example the loss. NaN and infinities are kept.
inline void Counter(std::string_view name, double value) {
  if (internal::Enabled()) internal::RecordCounter(name, value);
}
// The training step that runs on this thread ends here, and the next begins: shown as `ProfilerStep#<number>`.
// Without a number they count from 0. Call it on one thread, at the end of the step, outside of the step's scopes. Where a
// schedule is on (ferret/schedule.h) this is where recording starts and stops. Not in signal handlers.
inline void Step() {
  if (internal::StepsMatter()) internal::RecordStep(internal::kNextStep);
}
inline void Step(uint64_t number) {
  if (internal::StepsMatter()) internal::RecordStep(number);
}
// Names the calling thread in the output. Without a call the OS name at the thread's first record is shown.
inline void SetThreadName(std::string_view name) {
  if (internal::Enabled()) internal::RecordThreadName(name);
}

// The calling thread's logical id, from 1, never reused in the process: what Op::fwd_thread takes. 0 while recording is
// off. The output shows a framework's own thread ids instead while its adapter is loaded; Ferret translates.
FERRET_EXPORT_SYMBOL uint32_t ThreadId();

}  // namespace ferret

#endif  // FERRET_SCOPE_H_
