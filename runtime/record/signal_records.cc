// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records of signal handlers: the way to a record that never allocates, locks or waits.

#include "ferret/signal.h"

#include "runtime/record/recorder.h"
#include "runtime/record/thread_registry.h"

namespace ferret::internal {

Recorder::Place Recorder::EnterFromSignal(uint32_t bytes, Room room, bool can_be) {
  // Acquire, as in Enter: with an epoch there is a registry.
  const uint32_t epoch = g_switch.epoch.load(std::memory_order_acquire);
  if (epoch == 0) return {};
  Writer* const w = t_writer;
  const bool counts = room == Room::kBegin;
  if (w->kind == WriterKind::kSuppressed) return {};
  if (w->kind != WriterKind::kLive) {
    const LossReason reason = w->kind == WriterKind::kExited    ? LossReason::kAfterThreadExit
                              : w->kind == WriterKind::kRefused ? LossReason::kTooManyThreads
                                                                : LossReason::kNestedInSignal;
    if (counts) ThreadRegistry::Global().CountUnowned(reason);
    return {};
  }
  auto* const state = static_cast<ThreadState*>(w);
  if (can_be && state->gate.load(std::memory_order_relaxed) != kGateClosed) {
    CloseGate(state);
    // Ends go where their begin went, whatever has begun since.
    const bool attached = room == Room::kEnd || state->epoch == epoch;
    if (attached && Fits(state, bytes, room)) return {state->cursor, state};
    OpenGate(state);
  }
  if (counts) state->CountNestedInSignal();
  if (room == Room::kEnd) ThreadRegistry::Global().CountRefusedEnd();
  return {};
}

void RecordInstantFromSignal(uint32_t name_id) {
  const Recorder::Place place = Recorder::EnterFromSignal(kInstantBytes, Recorder::Room::kBegin, name_id != 0);
  if (!place) return;
  Put(place.at, 0, RecordHeader(RecordType::kInstant, kInstantBytes, kNoFlags, name_id));
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kInstantBytes);
}

ScopeEnd BeginScopeFromSignal(uint32_t name_id) {
  const Recorder::Place place = Recorder::EnterFromSignal(kBeginBytes, Recorder::Room::kBegin, name_id != 0);
  if (!place) return {};
  const ScopeEnd end{place.state->end_word += kNextHandle};
  Put(place.at, 0, RecordHeader(RecordType::kScopeBegin, kBeginBytes, kNoFlags, name_id));
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kBeginBytes);
  return end;
}

void EndScopeFromSignal(ScopeEnd end) {
  if (!end) return;
  const Recorder::Place place = Recorder::EnterFromSignal(kEndBytes, Recorder::Room::kEnd, true);
  if (!place) return;
  Put(place.at, 0, end.word);
  Put(place.at, 1, Recorder::ReadTicks());
  Recorder::Commit(place, kEndBytes);
}

}  // namespace ferret::internal
