// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Drain: moves records from chunks to the event builder, one pass at a time, and recycles the chunks.
//
//   pass:  take announced chunks ─► note how far each thread may be read ─► read the thread that is most behind, a
//          chunk at a time ─► link what every thread has passed ─► hand over the batch
//
// Reading the most backward thread first keeps threads abreast, so that few backward ops wait for their forward
// thread. What a pass may rely on: every record with ticks before the start of the pass, whose thread did something
// afterwards that another thread saw (as a forward op and its backward op do), is published when the pass looks.
//
// With a crash file batches are *cuts*: they have everything that was built from what was read, so that a position for
// each thread says what is in them, and a chunk waits until what was built from it is settled (crash_log.h).
//
// The only reader of chunks and the only one to recycle them (single-recycler). Drain thread only; under the session
// lock while no drain thread runs.

#ifndef FERRET_RUNTIME_DRAIN_DRAIN_H_
#define FERRET_RUNTIME_DRAIN_DRAIN_H_

#include <cstdint>
#include <vector>

#include "runtime/crash/crash_log.h"
#include "runtime/drain/event_builder.h"
#include "runtime/record/recorder.h"

namespace ferret::internal {

class Drain {
 public:
  // Takes over the chunks that the recorder's last session left open. `log` is null without a crash file; with one the
  // config has cuts.
  Drain(const EventBuilder::Config& config, Recorder* recorder, const ClockMap* clock, BatchSink* sink,
        CrashLog* log = nullptr);

  // `now_ticks`: read before the call. Without `deliver` a batch that is not full is kept for the next pass. Returns the
  // bytes of records that were read.
  uint64_t Pass(uint64_t now_ticks, bool deliver = true);
  // The last pass of a session, after recording was turned off: reads what is there, closes open scopes, delivers, and
  // leaves the chunks that threads still hold to the next session.
  void Finish(uint64_t now_ticks);

  // These threads are gone, and may not have said so: ends what they left open with their last record. Before a pass.
  void EndThreads(const std::vector<uint32_t>& gone, uint64_t now_ticks);

  // After Finish, when the crash file is gone: chunks that waited for exporters.
  void RecycleHeldChunks();

  const EventBuilder& builder() const { return builder_; }
  EventBuilder& builder() { return builder_; }
  DeviceLinker& device() { return builder_.device(); }
  // Records that were published only after their session's last pass (LossReason::kStoppedRace).
  uint64_t late() const { return late_; }

  // Scopes, instants and counters behind the read offset of a chunk that nobody will read.
  static uint64_t CountUnread(const Chunk& chunk);

 private:
  void TakeAnnounced();
  void Admit(Chunk* chunk);
  void ReleaseStaleChunks();
  // Pairs of marks that a chunk which nobody will read has told of: they are to go back.
  void SubmitPairsOf(const Chunk& chunk);
  // Notes how far the trace's front chunk may be read. False if there is nothing unread.
  bool LookAtFront(ThreadTrace& trace);
  uint64_t NextTicks(const ThreadTrace& trace) const;
  // Reads what LookAtFront found. False when the trace has nothing more in this pass.
  bool ReadFront(ThreadTrace& trace);

  // drain_cuts.cc: with a crash file.
  bool ReadFrontInSlices(ThreadTrace& trace);
  void NoteAdvance(ThreadTrace& trace, const Chunk& chunk);
  void Cut(bool even_if_small);
  void Hold(ThreadTrace& trace, Chunk* chunk);
  void ReleaseHeldChunks();
  bool Release(ThreadTrace& trace, ThreadTrace::HeldChunk& held, uint64_t settled);
  void MarkRemoteEnds(const Chunk& chunk);
  void MarkEndedElsewhere(ThreadTrace& trace, uint32_t handle);

  Recorder* const recorder_;
  BatchSink* const sink_;
  CrashLog* const log_;
  const size_t batch_events_;
  EventBuilder builder_;
  std::vector<ThreadTrace*> advanced_;  // since the last cut
  bool finishing_ = false;
  uint64_t settled_ = 0;  // when chunks were released last
  std::vector<ThreadTrace*> active_;
  std::vector<ThreadTrace*> over_;
  std::vector<Chunk*> stale_;  // of earlier sessions, not sealed yet
  uint64_t pass_bytes_ = 0;
  uint64_t late_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_DRAIN_H_
