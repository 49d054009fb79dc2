// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/record/recorder.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "absl/hash/hash.h"
#include "runtime/record/fork_mark.h"
#include "runtime/record/name_table.h"
#include "runtime/record/steps.h"
#include "runtime/record/thread_registry.h"
#include "runtime/record/windows.h"

namespace ferret::internal {
namespace {

// What t_writer points to on threads that have no state. Their gates are closed for good.
Writer g_none(WriterKind::kNone);
Writer g_creating(WriterKind::kCreating);
Writer g_exited(WriterKind::kExited);
Writer g_suppressed(WriterKind::kSuppressed);
Writer g_refused(WriterKind::kRefused);

static_assert(kEpochOfNewChild < kGateUnattached, "no gate shows it");

// Of a child that is to record: taken by the thread that calls it.
std::atomic<void (*)()> g_restart{nullptr};

// Release when a session starts, acquired by the cold path after it has seen the epoch.
std::atomic<Recorder*> g_recorder{nullptr};
// Release by the adapter, acquired when a chunk is opened.
std::atomic<uint64_t (*)()> g_thread_id_provider{nullptr};
std::atomic<uint64_t> g_lost_details{0};  // relaxed: a count
std::atomic<uint32_t> g_last_epoch{0};  // relaxed: only its uniqueness matters
// Written before the first epoch of a session; relaxed readers have seen that epoch, or record into a session that ended.
std::atomic<bool> g_cycle_counter{false};

uint32_t TakeEpoch() {
  uint32_t epoch;
  do {
    epoch = g_last_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  } while (epoch == 0 || epoch >= kEpochOfNewChild);
  return epoch;
}

// While a lock of the cold path is held outside of a record, handlers of this thread must find the gate closed, as they
// do inside of one. Only what was open is closed, and opened again.
__thread bool t_hidden FERRET_TLS_MODEL = false;

void HideFromHandlers() {
  Writer* const w = t_writer;
  if (w->kind == WriterKind::kLive && w->gate.load(std::memory_order_relaxed) != kGateClosed) {
    CloseGate(w);
    t_hidden = true;
  } else if (w->kind == WriterKind::kNone) {
    t_writer = &g_creating;
    t_hidden = true;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void ShowToHandlers() {
  if (!t_hidden) return;
  t_hidden = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (t_writer == &g_creating) {
    t_writer = &g_none;
  } else {
    OpenGate(t_writer);
  }
}

// Whoever allocates may change it, also when there is memory; a handler that records must not.
class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int saved_ = errno;
};

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Switch g_switch;
__thread Writer* t_writer FERRET_TLS_MODEL = &g_none;

bool Recorder::CanEverFit(uint32_t bytes) {
  const Recorder* const recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder == nullptr) return false;
  const uint32_t chunk = recorder->pool_->config().chunk_bytes;
  return kChunkHeaderBytes + kLossBytes + bytes <= chunk - kEndReserveBytes - kThreadExitBytes;
}

void Recorder::CountLostDetails() { g_lost_details.fetch_add(1, std::memory_order_relaxed); }
uint64_t Recorder::lost_details() { return g_lost_details.load(std::memory_order_relaxed); }

uint64_t Recorder::ReadTicks() {
  return uses_cycle_counter() ? ReadCycleCounter() : static_cast<uint64_t>(MonotonicNs());
}

bool Recorder::uses_cycle_counter() { return g_cycle_counter.load(std::memory_order_relaxed); }

Recorder* Recorder::Create(const Config& config) {
  std::unique_ptr<Recorder> recorder(new (std::nothrow) Recorder(config));
  if (recorder == nullptr) return nullptr;
  // Made now: a signal handler that interrupted the construction on its own thread would wait for it for ever.
  ThreadRegistry::Global();
  NameTable::Global();
  ForkMark::Set();
  recorder->pool_ = ChunkPool::Create(config.pool);
  if (recorder->pool_ == nullptr) return nullptr;
  return recorder.release();
}

Windows& Windows::Global() {
  static Windows windows;  // trivial to destroy
  return windows;
}

void Recorder::Start(bool cycle_counter, uint32_t wants, bool paused) {
  g_switch.wants.store(wants, std::memory_order_relaxed);
  g_cycle_counter.store(cycle_counter, std::memory_order_relaxed);
  const uint32_t epoch = TakeEpoch();
  first_epoch_.store(epoch, std::memory_order_relaxed);
  first_window_.store(Windows::Global().Begin(), std::memory_order_relaxed);
  g_recorder.store(this, std::memory_order_release);
  if (paused) return;
  // Release, acquired by EnterClosed: whoever sees the epoch there sees the recorder.
  g_switch.epoch.store(epoch, std::memory_order_release);
}

void Recorder::Stop() { g_switch.epoch.store(0, std::memory_order_relaxed); }

void Recorder::Pause() {
  Windows::Global().End(ReadTicks());
  Stop();
}

void Recorder::Resume() {
  Windows::Global().Begin();
  // Release: as in Start.
  g_switch.epoch.store(TakeEpoch(), std::memory_order_release);
}

void Recorder::NewEpoch() {
  // Only if on: a compare-exchange, so that a concurrent Stop stays stopped.
  uint32_t current = g_switch.epoch.load(std::memory_order_relaxed);
  while (current != 0 && current != kEpochOfNewChild &&
         !g_switch.epoch.compare_exchange_weak(current, TakeEpoch(), std::memory_order_release)) {
  }
}

void Recorder::SetThreadIdProvider(uint64_t (*current_thread_id)()) {
  g_thread_id_provider.store(current_thread_id, std::memory_order_release);
  NewEpoch();
}

void Recorder::SuppressThisThread() { t_writer = &g_suppressed; }

void Recorder::BeforeFork() {
  HideFromHandlers();
  if (IsUnknownChild()) {
    ThreadRegistry::Global().RenewLock();
    NameTable::Global().RenewLocks();
  }
  ThreadRegistry::Global().Lock();
  NameTable::Global().LockAll();
}

void Recorder::AfterForkInParent() {
  NameTable::Global().UnlockAll();
  ThreadRegistry::Global().Unlock();
  ShowToHandlers();
}

// The queues may be in the middle of an operation of a thread that does not exist here, and nobody drains: the child
// leaves them alone, with the recorder, the chunks and the states of all threads, its own too.
void Recorder::ForgetParent() {
  const Writer* const w = t_writer;
  Stop();
  SetStepHook(nullptr);
  SuppressThisThread();
  t_hidden = false;
  g_restart.store(nullptr, std::memory_order_relaxed);
  g_recorder.store(nullptr, std::memory_order_relaxed);
  ThreadRegistry::Global().ForgetInChild(w->kind == WriterKind::kLive ? w->end_word : 0);
  NameTable::Global().ForgetFileInChild();
  ForkMark::Set();
  NameTable::Global().UnlockAll();
  ThreadRegistry::Global().Unlock();
}

void Recorder::AfterForkInChild() { ForgetParent(); }

void Recorder::AfterForkInSessionChild(void (*restart)(), bool steps) {
  const WriterKind kind = t_writer->kind;
  ForgetParent();
  // Not where it recorded nothing in the parent either.
  if (kind != WriterKind::kSuppressed && kind != WriterKind::kExited) t_writer = &g_none;
  if (restart == nullptr) return;
  g_restart.store(restart, std::memory_order_relaxed);
  if (steps) SetStepHook(&StepInNewChild);
  // Release: whoever sees it on another thread, which was made later, sees the rest.
  g_switch.epoch.store(kEpochOfNewChild, std::memory_order_release);
}

void (*Recorder::CancelRestart())() {
  void (*const restart)() = g_restart.exchange(nullptr, std::memory_order_acq_rel);
  uint32_t waiting = kEpochOfNewChild;
  g_switch.epoch.compare_exchange_strong(waiting, 0, std::memory_order_relaxed);
  return restart;
}

void Recorder::AllowRestart(void (*restart)()) {
  if (restart == nullptr) return;
  g_restart.store(restart, std::memory_order_release);
  uint32_t off = 0;
  g_switch.epoch.compare_exchange_strong(off, kEpochOfNewChild, std::memory_order_release);
}

bool Recorder::IsUnknownChild() {
  if (!ForkMark::Lost()) return false;
  Stop();
  SetStepHook(nullptr);
  SuppressThisThread();
  return true;
}

// False when there is still no session. While one thread starts it, recording is not on for the others, as it is not while
// a program starts its first one.
bool Recorder::RestartInChild() {
  if (t_writer->kind != WriterKind::kNone) return false;
  void (*const restart)() = g_restart.exchange(nullptr, std::memory_order_acq_rel);
  if (restart == nullptr) return false;
  const int saved_errno = errno;
  int cancel_state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  SuppressThisThread();
  restart();
  t_writer = &g_none;
  CancelRestart();
  pthread_setcancelstate(cancel_state, nullptr);
  errno = saved_errno;
  return true;
}

void Recorder::StepInNewChild(StepSource source, uint64_t number) {
  if (RestartInChild()) TellStep(source, number);
}

void Recorder::WakeDrain() {
  if (Recorder* const recorder = g_recorder.load(std::memory_order_acquire)) recorder->Wake();
}

Recorder::Place Recorder::Enter(uint32_t bytes, Room room) {
  // Acquire, released by Start and NewEpoch.
  const uint32_t epoch = g_switch.epoch.load(std::memory_order_acquire);
  Writer* const w = t_writer;
  const bool usual = epoch != 0 && epoch != kEpochOfNewChild && w->kind == WriterKind::kLive;
  return FERRET_LIKELY(usual) ? EnterLive(static_cast<ThreadState*>(w), epoch, bytes, room) : EnterRarely(bytes, room);
}

Recorder::Place Recorder::EnterRarely(uint32_t bytes, Room room) {
  // Acquire: as in Enter.
  const uint32_t epoch = g_switch.epoch.load(std::memory_order_acquire);
  if (epoch == 0) return {};
  if (epoch == kEpochOfNewChild) {
    // Ends are those of the parent's scopes.
    const bool begins = room == Room::kBegin || room == Room::kNote;
    return begins && RestartInChild() ? Enter(bytes, room) : Place{};
  }
  Writer* const w = t_writer;
  switch (w->kind) {
    case WriterKind::kLive:
      return EnterLive(static_cast<ThreadState*>(w), epoch, bytes, room);
    case WriterKind::kNone: {
      if (IsUnknownChild()) return {};
      // A child by vfork has this thread's memory, and no life of its own that anybody could see the end of.
      const Recorder* const recorder = g_recorder.load(std::memory_order_acquire);
      if (recorder == nullptr || static_cast<uint32_t>(getpid()) != recorder->pid_) {
        if (room == Room::kBegin) ThreadRegistry::Global().CountUnowned(LossReason::kTooManyThreads);
        return {};
      }
      const KeepErrno keep_errno;
      // A handler that interrupts the creation finds kCreating, and drops.
      t_writer = &g_creating;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      ThreadState* state = ThreadRegistry::Global().Acquire();
      if (state == nullptr) {
        t_writer = &g_refused;
        if (room == Room::kBegin) ThreadRegistry::Global().CountUnowned(LossReason::kTooManyThreads);
        return {};
      }
      // Complete, and closed, before the pointer is stored.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      t_writer = state;
      return Attach(state, epoch, bytes, room);
    }
    case WriterKind::kCreating:
      if (room == Room::kBegin) ThreadRegistry::Global().CountUnowned(LossReason::kNestedInSignal);
      return {};
    case WriterKind::kExited:
      if (room == Room::kBegin) ThreadRegistry::Global().CountUnowned(LossReason::kAfterThreadExit);
      return {};
    case WriterKind::kRefused:
      if (room == Room::kBegin) ThreadRegistry::Global().CountUnowned(LossReason::kTooManyThreads);
      return {};
    case WriterKind::kSuppressed:
      return {};
  }
  return {};
}

bool Recorder::Fits(const ThreadState* state, uint32_t bytes, Room room) {
  const Chunk* const chunk = state->current;
  if (chunk == nullptr) return false;
  const uint32_t limit = room == Room::kEnd ? chunk->end_limit() : chunk->begin_limit();
  return static_cast<uint32_t>(state->cursor - state->chunk) + bytes <= limit;
}

Recorder::Place Recorder::EnterLive(ThreadState* state, uint32_t epoch, uint32_t bytes, Room room) {
  if (state->gate.load(std::memory_order_relaxed) == kGateClosed) {
    // In a signal handler, in the middle of a record of the same thread. Only begins count: a scope that this handler
    // began was refused for the same reason.
    if (room == Room::kBegin) state->CountNestedInSignal();
    return {};
  }
  CloseGate(state);
  if (state->epoch != epoch) return Attach(state, epoch, bytes, room);
  if (Fits(state, bytes, room)) return {state->cursor, state};
  // Known to be in vain: the way that most scopes take that are dropped. In an unknown child, where nobody recycles
  // anything, it must end, or the ends of the parent's scopes would go on into what may be the parent's memory.
  const bool in_vain =
      state->refused && state->recycled_seen == state->recorder->pool_->recycled() && !ForkMark::Lost();
  if (!in_vain && state->recorder->OpenChunk(state, room)) return {state->cursor, state};
  state->recorder->Refuse(state, room);
  OpenGate(state);
  return {};
}

// First record of the thread, or first one in a new epoch: a new chunk carries the thread's identity.
Recorder::Place Recorder::Attach(ThreadState* state, uint32_t epoch, uint32_t bytes, Room room) {
  Recorder* const recorder = g_recorder.load(std::memory_order_acquire);
  if (state->session != recorder->first_epoch()) {
    // The chunk of the last session goes back first: threads that each held on to one could leave nothing for this one.
    Chunk* const old = state->current;
    Detach(state);
    if (old != nullptr) Seal(old);
    if (state->recorder != recorder) {
      state->recorder = recorder;
      state->open_token.reset();
      state->spare = nullptr;  // of the other pool, which is retired
    }
    // A refusal by the last session says nothing about this one, and its losses are not this one's to tell.
    state->session = recorder->first_epoch();
    state->refused = false;
    state->unreported = 0;
  }
  const uint32_t previous_epoch = state->epoch;
  state->epoch = epoch;
  if (recorder->OpenChunk(state, room)) return {state->cursor, state};
  // The next record tries again.
  state->epoch = previous_epoch;
  // Without a new chunk, an end may still use the old one if that is of the current one.
  const bool same_session = state->current != nullptr && state->current->epoch >= recorder->first_epoch();
  if (same_session && room == Room::kEnd && Fits(state, bytes, room)) return {state->cursor, state};
  recorder->Refuse(state, room);
  OpenGate(state);
  return {};
}

void Recorder::Detach(ThreadState* state) {
  state->current = nullptr;
  state->chunk = state->cursor = state->begin_limit = state->end_limit = nullptr;
  state->open_gate = kGateUnattached;
  state->epoch = 0;
}

void Recorder::Commit(const Place& place, uint32_t bytes) {
  Publish(place.state, place.at, bytes);
  OpenGate(place.state);
}

void Recorder::Refuse(ThreadState* state, Room room) {
  if (room == Room::kEnd || room == Room::kRemoteEnd) ThreadRegistry::Global().CountRefusedEnd();
  if (room != Room::kBegin) return;
  const LossReason reason = config_.policy == OverflowPolicy::kBlock  ? LossReason::kBlockTimeout
                            : config_.policy == OverflowPolicy::kGrow ? LossReason::kMemoryCap
                                                                      : LossReason::kPoolExhausted;
  if (state->unreported++ == 0) state->unreported_since = ReadTicks();
  state->unreported_reason = reason;
  state->Count(reason);
}

// The new chunk first, and only then the old one is sealed: if there is none, ends can still use the old one's reserve.
bool Recorder::OpenChunk(ThreadState* state, Room room) {
  if (IsUnknownChild()) return false;
  const KeepErrno keep_errno;
  if (!TakeToken(state)) return false;
  Chunk* const chunk = TakeChunk(state, room);
  if (chunk == nullptr) return false;

  auto* provider = g_thread_id_provider.load(std::memory_order_acquire);
  chunk->magic = kChunkMagic;
  chunk->version = kRecordFormatVersion;
  chunk->header_bytes = kChunkHeaderBytes;
  chunk->chunk_bytes = pool_->config().chunk_bytes;
  chunk->pid = pid_;
  chunk->epoch = state->epoch;
  chunk->window = Windows::Global().current();
  chunk->thread = state->thread;
  chunk->os_tid = state->os_tid;
  chunk->framework_thread = provider != nullptr ? static_cast<uint32_t>(provider()) : 0;
  chunk->sequence = state->chunk_sequence;
  chunk->begins = PayloadOf(state->end_word);
  chunk->write_offset.store(kChunkHeaderBytes, std::memory_order_relaxed);
  chunk->sealed.store(0, std::memory_order_relaxed);
  // Release, acquired by the drain after it dequeued the chunk: the header above is complete.
  chunk->owner.store(state->thread, std::memory_order_release);
  if (!pool_->Announce(*state->open_token, chunk)) {
    state->spare = chunk;  // no memory for the queue's own blocks: tried again with the next record
    return false;
  }
  ++state->chunk_sequence;

  Chunk* const old = state->current;
  const bool inlined = uses_cycle_counter();
  state->current = chunk;
  state->chunk = chunk->bytes();
  state->cursor = chunk->bytes() + kChunkHeaderBytes;
  state->begin_limit = chunk->bytes() + chunk->begin_limit() - kOpBeginBytes + 1;
  state->end_limit = inlined ? chunk->bytes() + chunk->end_limit() - kEndBytes + 1 : nullptr;
  state->open_gate = inlined ? state->epoch : kGateOutOfLine;
  // Only now, when nothing of the thread points to the old chunk any more, may the drain recycle it.
  if (old != nullptr) Seal(old);
  state->refused = false;
  if (state->unreported != 0) WriteLossRecord(state);
  if (pool_->RunningLow()) Wake();
  return true;
}

// A token without a producer, for want of memory, is as good as no chunk.
bool Recorder::TakeToken(ThreadState* state) {
  if (!state->open_token.has_value()) state->open_token.emplace(pool_->open_queue());
  if (state->open_token->valid()) return true;
  state->open_token.reset();
  return false;
}

Chunk* Recorder::TakeChunk(ThreadState* state, Room room) {
  if (state->spare != nullptr) return std::exchange(state->spare, nullptr);
  // Read before looking: a chunk that is recycled meanwhile makes the next attempt look again.
  const uint32_t recycled = pool_->recycled();
  if (state->refused && state->recycled_seen == recycled) return nullptr;
  Chunk* chunk = pool_->TakeFree();
  if (chunk == nullptr && config_.policy == OverflowPolicy::kGrow) chunk = pool_->TakeFreeGrowing();
  if (chunk == nullptr) {
    Wake();
    if (config_.policy == OverflowPolicy::kBlock) {
      // An end does not wait, and does not take the next begin's wait away.
      if (room == Room::kEnd || room == Room::kRemoteEnd) return nullptr;
      chunk = TakeChunkBlocking();
    }
  }
  state->refused = chunk == nullptr;
  state->recycled_seen = recycled;
  return chunk;
}

// Bounded, since whatever would free a chunk may need something that this thread holds (an interpreter lock, say).
Chunk* Recorder::TakeChunkBlocking() {
  const int64_t until = MonotonicNs() + config_.block_limit_ns;
  int64_t nap_ns = 20'000;
  for (;;) {
    const int64_t left = until - MonotonicNs();
    if (left <= 0) return nullptr;
    const int64_t ns = std::min(nap_ns, left);
    const timespec nap{ns / 1'000'000'000, static_cast<long>(ns % 1'000'000'000)};
    const int saved_errno = errno;
    nanosleep(&nap, nullptr);
    errno = saved_errno;
    if (Chunk* chunk = pool_->TakeFree()) return chunk;
    Wake();
    nap_ns = std::min<int64_t>(nap_ns * 2, 2'000'000);
  }
}

void Recorder::Seal(Chunk* chunk) {
  // Release, acquired by the drain before it loads write_offset: that offset is then the last one.
  chunk->sealed.store(1, std::memory_order_release);
}

void Recorder::WriteLossRecord(ThreadState* state) {
  char* const at = state->cursor;
  state->loss_ticks = ReadTicks();
  Put(at, 0, RecordHeader(RecordType::kLoss, kLossBytes, kNoFlags, static_cast<uint32_t>(state->unreported_reason)));
  Put(at, 1, state->loss_ticks);
  Put(at, 2, state->unreported);
  Put(at, 3, state->unreported_since);
  Publish(state, at, kLossBytes);
  state->unreported = 0;
}

// Runs after all C++ thread_local destructors of the thread. The first round only arms the hook once more, so that
// destructors of other keys in the same round may still record.
void Recorder::OnThreadExit(void* argument) {
  auto* state = static_cast<ThreadState*>(argument);
  if (t_writer != state) return;  // a forked child, or recording was suppressed meanwhile
  if (IsUnknownChild()) return;
  ThreadRegistry& registry = ThreadRegistry::Global();
  if (state->exit_rounds++ == 0) {
    registry.ArmExitHook(state);
    return;
  }
  CloseGate(state);
  if (Chunk* chunk = state->current) {
    // There is always room: no other record goes beyond end_limit.
    char* const at = state->cursor;
    Put(at, 0, RecordHeader(RecordType::kThreadExit, kThreadExitBytes, kNoFlags, 0));
    Put(at, 1, ReadTicks());
    Publish(state, at, kThreadExitBytes);
    Detach(state);
    Seal(chunk);
  }
  t_writer = &g_exited;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  registry.Release(state);
}

uint32_t Recorder::NameIdOutsideOfRecord(std::string_view name) {
  if (IsUnknownChild()) return 0;
  HideFromHandlers();
  const uint32_t id = NameTable::Global().Intern(name);
  ShowToHandlers();
  return id;
}

uint32_t Recorder::NameId(ThreadState* state, std::string_view name) {
  if (state->names == nullptr) {
    state->names.reset(new (std::nothrow) NameCache);
    if (state->names == nullptr) return NameTable::Global().Intern(name);
  }
  const uint64_t hash = absl::Hash<std::string_view>()(name);
  NameCache::Entry& entry = state->names->entries[hash % NameCache::kEntries];
  NameTable& table = NameTable::Global();
  if (entry.name_id != 0 && entry.hash == hash && table.Text(entry.name_id) == name) return entry.name_id;
  if (IsUnknownChild()) return 0;
  const uint32_t id = table.Intern(name);
  if (id != 0) entry = {hash, id};
  return id;
}

}  // namespace ferret::internal
